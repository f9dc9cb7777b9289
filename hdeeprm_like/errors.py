"""Errors caused by the input of a user.

    HDeepRMError
    ├── PlatformError      a platform, a catalogue of types, or a SimGrid XML
    ├── WorkloadError      a trace, a Batsim workload, or a job
    ├── OptionsError       the options file or a command line flag
    ├── AgentError         a user's agent
    ├── ProtocolError      a message of the other end of a socket
    ├── ResultsError       the files of a run
    └── CheckError         a user's part that breaks a rule of scheduling

The command line prints each as one line with exit status 2. Any other exception is a bug of ours and keeps its
traceback. A message says what is wrong, where, and what would be right.
"""

from collections.abc import Iterable


class HDeepRMError(Exception):
    """An input of a user is invalid; the message is one line for that user."""


class PlatformError(HDeepRMError):
    """A platform, a catalogue of hardware types, or a SimGrid XML cannot be used."""


class WorkloadError(HDeepRMError):
    """A trace, a Batsim workload or a job cannot be used."""


class OptionsError(HDeepRMError):
    """The options file or a command line flag cannot be used."""


class AgentError(HDeepRMError):
    """A user's agent cannot be loaded or returned an invalid decision."""


class ProtocolError(HDeepRMError):
    """The other end of a socket sent a message that violates the protocol."""


class ResultsError(HDeepRMError):
    """The files of a run are missing or cannot be read."""


class CheckError(HDeepRMError):
    """A part of the user's own breaks a rule of scheduling.

    Attributes:
        check: the name of the rule, as ``no look at the future``.
    """

    def __init__(self, check: str, message: str) -> None:
        super().__init__(f"{check}: {message}")
        self.check = check


LONGEST = 280  # characters of a message; its beginning names the subject and its end what would be right


LONGEST_WORD = 60  # characters of a word, such as a path, in a message that is too long


def one_line(text: str, most: int = LONGEST) -> str:
    """Return a text that fits into one line of a terminal: nothing unprintable, and cut in the middle if too long.

    Long words, which are mostly paths, lose their middle before the sentence does.
    """
    plain = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    if len(plain) > most:
        plain = " ".join(_cut(word, LONGEST_WORD, "...") for word in plain.split(" "))
    return _cut(plain, most, " ... ")


def _cut(text: str, most: int, gap: str) -> str:
    """Return a text without its middle, so that it has *most* characters at most."""
    kept = most - len(gap)
    end = kept // 3
    return text if len(text) <= most else f"{text[: kept - end]}{gap}{text[-end:]}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, else the list of all of them."""
    from difflib import get_close_matches  # only errors need it, and importing it takes a while

    names = sorted(known)
    near = get_close_matches(name, names, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(names)}" if names else ""
