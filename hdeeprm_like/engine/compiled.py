"""The one door to numba: functions on arrays, compiled when they are first called and kept on disk.

| mark | for |
|---|---|
| `compiled` | functions that Python or other compiled functions call |
| `inlined` | functions in hot loops, small or called from few places: they become part of each that calls them |
| `released` | functions that several threads run at once: they let the interpreter go |

In all of them x / 0 is infinite or nan, as in numpy. Only what Python calls lies on disk, where numba keeps its machine
code: beside the source, in the user's cache, or under ``NUMBA_CACHE_DIR``. numba looks only at the file of a function
to tell whether its machine code is still good, but ours are made of functions and constants of many files. So the
content of all these files is part of the key: stale machine code never runs.
"""

import functools
import gc
import hashlib
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import cgutils, event, types
from numba.extending import intrinsic, models, overload, register_model, typeof_impl

from hdeeprm_like.engine import inner

PACKAGE = Path(__file__).parent.parent
SOURCES = ("cluster", "engine", "decision", "run", "learning")  # folders that compiled functions are made of
FUNCTIONS = 250  # about so many are compiled at the first call of a large one, for the progress
PACE: dict[str, Any] = {"unit": " functions", "delay": 1.0, "mininterval": 1.0}  # s

OPTIONS: dict[str, Any] = {"error_model": "numpy"}
# Said of each function that is not `inlined`, because numba else hands this option on from the caller to what it calls:
# whole policies would be copied into every place that calls them, which takes LLVM many times as long.
NOT_FORCED: dict[str, Any] = {"forceinline": False}

PLAIN = (int, float, bool)  # Python's own types that numba has one type for

F = TypeVar("F", bound=Callable[..., object])

functions_compiled = 0  # by this process, what was found on disk not counted
QUIET = "HDEEPRM_LIKE_QUIET"  # environment variable: 1 where nobody is told that something is being compiled


@functools.cache
def source_digest() -> str:
    """Return a name for the content of every file that compiled code is made of, and for how it is compiled."""
    digest = hashlib.sha256(f"{numba.config.BOUNDSCHECK} {inner.WAY}".encode())
    for folder in SOURCES:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class Compiled:
    """A compiled function: for other compiled functions, and with a way in for Python once Python calls it."""

    def __init__(self, function: Callable[..., object], **options: Any) -> None:
        functools.update_wrapper(self, function)
        self._nogil = {"nogil": True} if options.pop("nogil", False) else {}
        self.inner = inner.compile_inner(function, **{**OPTIONS, **NOT_FORCED, **options})
        self._by_kinds: dict[tuple[Any, ...], Callable[..., object]] = {}

    @functools.cached_property
    def entry(self) -> Any:
        """The function with a way in for Python, whose key on disk holds the content of all sources."""
        function = cast(Any, self).__wrapped__
        names = ", ".join(inspect.signature(function).parameters)
        # the digest is a variable of the enclosing function, which numba makes part of the key; numba reads the source
        # of what it compiles from the file, so what is made says that it stands where the function does
        above = "\n" * (function.__code__.co_firstlineno - 2)
        source = above + (
            f"def make(digest):\n    def {function.__name__}({names}):\n        digest\n"
            f"        return function({names})\n    return {function.__name__}\n"
        )
        place: dict[str, Any] = {"function": self, "__name__": function.__module__}
        exec(compile(source, inspect.getfile(function), "exec"), place)  # names of our own functions alone go in
        made = place["make"](f"{source_digest()} {function.__qualname__}")
        made.__qualname__ = function.__qualname__
        made.__module__ = function.__module__
        return numba.njit(cache=True, **OPTIONS, **NOT_FORCED, **self._nogil)(made)

    def __call__(self, *arguments: object) -> object:
        """Call it from Python."""
        kinds = tuple([getattr(argument, "type_id", None) or type(argument) for argument in arguments])
        known = self._by_kinds.get(kinds)
        if known is None:
            # numba looks long at an argument whose type it was taught; the machine code itself takes it as it is
            plain = all(kind in PLAIN or isinstance(kind, int) for kind in kinds)
            known = self._by_kinds[kinds] = direct(self, *arguments) if plain else self.entry
        return known(*arguments)


def machine_code(function: Any) -> tuple[Path, list[Path]]:
    """Return the folder where numba keeps the machine code of a `compiled` function, and its files there.

    Raises:
        RuntimeError: numba may write no folder.
    """
    folder = Path(function.entry.stats.cache_path)
    name = function.__name__
    return folder, sorted(path for path in folder.glob("*.nbc") if f".{name}-" in path.name)


class Callee(numba.types.Dispatcher):  # type: ignore[misc]
    """numba's type of a compiled function that another one calls.

    numba compiles a function anew for each constant and each width of integers that it is called with. Ours are
    compiled for plain words, and arguments are converted where they are called.
    """

    def get_call_type(self, context: Any, arguments: Any, named: Any) -> Any:
        """Return the signature of a call."""
        return super().get_call_type(context, tuple(map(_plain, arguments)), named)


register_model(Callee)(models.OpaqueModel)


def _plain(kind: Any) -> Any:
    kind = numba.types.unliteral(kind)
    short = isinstance(kind, numba.types.Integer) and kind.signed and kind.bitwidth < numba.types.intp.bitwidth
    return numba.types.intp if short else kind


@typeof_impl.register(Compiled)  # type: ignore[untyped-decorator]
def _typeof_compiled(function: Compiled, context: Any) -> Any:
    return Callee(function.inner)


def compiled(function: F) -> F:
    """Compile *function* with numba and keep its Python type for the checker."""
    return cast(F, Compiled(function))


def inlined(function: F) -> F:
    """Compile a small function into each of its callers, however large these are."""
    return cast(F, Compiled(function, forceinline=True))


def released(function: F) -> F:
    """Compile a function that lets the interpreter go where Python calls it."""
    return cast(F, Compiled(function, nogil=True))


def by_type(choose: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function for compiled code that stands for others: which one follows from the types of its arguments.

    So one loop serves all clocks, observations and action spaces, and each run compiles only those that it has.

    Args:
        choose: returns the compiled function for numba's types of the arguments; it never runs in compiled code.
    """
    names = ", ".join(inspect.signature(choose).parameters)

    def stands_for(*arguments: Any) -> Any:
        raise TypeError(f"{choose.__name__} can be called from compiled functions only")

    stands_for.__name__ = choose.__name__
    source = f"def {choose.__name__}({names}):\n    return chosen({names})\n"

    def implementation(*types: Any) -> Any:
        place: dict[str, Any] = {"chosen": choose(*types)}
        exec(source, place)  # names of our own functions alone go in
        return place[choose.__name__]

    options = {**OPTIONS, **inner.OPTIONS, "forceinline": True}
    typed: dict[str, Any] = {"implementation": implementation}
    exec(f"def typed({names}):\n    return implementation({names})\n", typed)
    overload(stands_for, jit_options=options, strict=False)(typed["typed"])
    return stands_for


def direct(function: F, *arguments: object) -> F:
    """Return the machine code of a compiled function for arguments of these types, compiled now if it is not on disk.

    Calling it saves the look at the types of the arguments: whoever does so answers for them.
    """
    entry = cast(Any, function).entry
    kinds = tuple(numba.typeof(argument) for argument in arguments)
    return cast(F, entry.compile(kinds))


def _instruction(name: str, *more: Any) -> Any:
    """Return a function of one word for compiled code that is an instruction of the processor."""

    def typed(typing: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, name)(context.cast(builder, arguments[0], word, types.intp), *more)

        return types.intp(word), generate

    typed.__name__ = name
    return intrinsic(typed)


count_bits = _instruction("ctpop")
lowest_bit = _instruction("cttz", cgutils.false_bit)  # the number of the lowest bit that is set, 64 for none
zeros_above = _instruction("ctlz", cgutils.false_bit)  # how many bits above the highest one that is set


class _Progress(event.Listener):  # type: ignore[misc]
    """Tells on stderr, with progress, while functions of ours are being compiled.

    Meanwhile Python does not look for garbage: what numba makes of a function is in use until its caller is compiled,
    and looking through it again and again takes a fourteenth of the time.
    """

    def __init__(self) -> None:
        self.depth = 0  # functions that are being compiled, each for the one before it
        self.collects = False  # whether Python looked for garbage before
        self.told = False
        self.bar: Any = None

    def on_start(self, happening: Any) -> None:
        """Begin the bar with the first function."""
        if self.depth == 0:
            if not _is_ours(happening):
                return
            self.collects = gc.isenabled()
            gc.disable()
        self.depth += 1
        if self.bar is None:
            from tqdm import tqdm

            quiet = os.environ.get(QUIET, "0") != "0"
            if not (quiet or self.told):
                sys.stderr.write("hdeeprm-like: compiling, once for this machine (up to a minute)\n")
                self.told = True
            self.bar = tqdm(desc="compiling", total=FUNCTIONS, leave=False, disable=quiet or None, **PACE)

    def on_end(self, happening: Any) -> None:
        """Move the bar on; it goes with the last function."""
        global functions_compiled
        if self.depth == 0:
            return
        self.depth -= 1
        functions_compiled += 1
        if self.depth == 0 and self.collects:
            gc.enable()
        if self.bar is not None:  # it could not be shown where stderr is closed
            self.bar.update(1)
            if self.depth == 0:
                self.bar.close()
                self.bar = None


def _is_ours(happening: Any) -> bool:
    """Tell whether the function that is being compiled belongs to this package."""
    function = happening.data["dispatcher"].py_func
    return bool((function.__module__ or "").partition(".")[0] == PACKAGE.name)


event.register("numba:compile", _Progress())
