"""A scheduler that is a C library, called instead of a socket.

| function | is called | with |
|---|---|---|
| ``batsim_edc_init`` | once | the text for the scheduler; it sets the flags of the format and its hello |
| ``batsim_edc_take_decisions`` | for each message | the message; it sets the reply |
| ``batsim_edc_deinit`` | at the end | nothing |

Each returns 0, or another number if it failed. What a function sets stays the library's until its next call.

Source: ``batsim_edc.h`` of Batsim 5.
"""

import ctypes
import struct
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import OptionsError, ProtocolError

BYTES, SIZE, TEXT = ctypes.POINTER(ctypes.c_uint8), ctypes.c_uint32, ctypes.c_char_p
REPLY = (ctypes.POINTER(BYTES), ctypes.POINTER(SIZE))
FUNCTIONS = {
    "batsim_edc_init": (TEXT, SIZE, ctypes.POINTER(SIZE), *REPLY),
    "batsim_edc_take_decisions": (TEXT, SIZE, *REPLY),
    "batsim_edc_deinit": (),
}
LARGEST_REPLY = 1 << 28  # bytes


class Library:
    """A loaded library, which answers the messages that a scheduler behind a socket would."""

    def __init__(self, path: Path) -> None:
        """Load a library.

        Raises:
            OptionsError: it cannot be loaded, or lacks one of the functions.
        """
        self._path = path
        self._begun = False
        try:
            loaded = ctypes.CDLL(str(path.absolute()))
        except OSError as cause:
            raise OptionsError(f"-l {path}: cannot be loaded as a library: {cause}") from None
        self._functions: dict[str, Any] = {}
        for name, arguments in FUNCTIONS.items():
            try:
                function = getattr(loaded, name)
            except AttributeError:
                raise OptionsError(f"-l {path}: has no function {name}, which a scheduler needs") from None
            function.argtypes, function.restype = arguments, ctypes.c_uint8
            self._functions[name] = function

    def close(self) -> None:
        """Make the library free what it holds."""
        if self._begun:
            self._functions["batsim_edc_deinit"]()

    def ask(self, message: bytes) -> bytes:
        """Hand over a message as it would go over a socket; return the reply in the same form.

        Raises:
            ProtocolError: the library says that it failed, or replies with nothing.
        """
        if self._begun:
            return self._call("batsim_edc_take_decisions", message, len(message))
        flags, text = SIZE(0), message[4:]  # without the length, which a socket needs
        hello = self._call("batsim_edc_init", text, len(text), ctypes.byref(flags))
        self._begun = True
        return struct.pack("=I", flags.value) + hello

    def _call(self, name: str, *arguments: Any) -> bytes:
        reply, size = BYTES(), SIZE(0)
        code = self._functions[name](*arguments, ctypes.byref(reply), ctypes.byref(size))
        if code != 0:
            raise ProtocolError(f"{self._path}: {name} has failed with {code}")
        if not reply or size.value > LARGEST_REPLY:
            raise ProtocolError(f"{self._path}: {name} gives no reply, or one of more than {LARGEST_REPLY} bytes")
        return ctypes.string_at(reply, size.value)
