"""The words of a policy's name: the only module that knows where one ends and the next begins.

A name is ``ORDER[@TIMES][+MODE[:OPTIONS][@TIMES]][-PLACEMENT]``; a policy pair is an order and a placement, a learned
policy is an order, and so is a user's own job policy. A word ends at the next ``@``, ``+`` or ``-``, but the path of a
file may hold these: ``scored:FILE.json`` or ``learned:FILE.json`` (or ``.py``) ends at the first such ending behind
which a sign stands or nothing, and a user's own ``FILE.py:ATTRIBUTE`` behind the attribute. Nothing heavy is imported.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hdeeprm_like import refusals
from hdeeprm_like.decision.rates import RATED
from hdeeprm_like.engine.numbers import JOB_POLICIES
from hdeeprm_like.errors import OptionsError

AGENT, RECORDED = "agent:", "actual"  # before the folder of a trained agent; the schedule that a trace records
ZOO, SCORED = "zoo:", "scored:"  # before the name of a shipped learned policy, and the file of another one
LEARNED = "learned:"  # before the file of a run-time predictor
ENDING, OWN_ENDING = ".json", ".py"

WORD = re.compile(
    rf"(^|[@+-])({SCORED}(?:.+?\{ENDING}(?=[@+-]|$)|.*)|{LEARNED}.+?(?:\{ENDING}|\{OWN_ENDING})(?=[@+-]|$)|"
    rf"(?:(?!{SCORED}|{LEARNED}).)+?\{OWN_ENDING}:[^@+-]*|[^@+-]*)",
    re.DOTALL,
)
FORM = re.compile(r"@?(\+@?)?-?")  # the signs of a name


class Words(NamedTuple):
    """The words of a name, None where it has none; the mode with its options."""

    order: str
    order_times: str | None = None
    mode: str | None = None
    times: str | None = None
    placement: str | None = None

    @property
    def kind(self) -> str:
        """Kind of the policy, as `refusals` names it; a user's own is ``file.py:attribute`` or ``module:attribute``."""
        if self.order.startswith(AGENT):
            return refusals.AGENT
        if self == (RECORDED, None, None, None, None):
            return refusals.RECORDED
        if ":" in self.order and not is_scored(self.order):
            return refusals.OWN
        paired = self.order in JOB_POLICIES and self.placement is not None
        return refusals.PAIR if paired and self.order_times is None and self.mode is None else refusals.BASELINE

    @property
    def uses_file(self) -> bool:
        """Whether it is or uses a learned policy or predictor."""
        return any(word is not None and word.startswith((ZOO, SCORED, LEARNED)) for word in self)


def is_scored(word: str) -> bool:
    """Return whether a word looks like a learned policy: ``zoo:NAME`` or ``scored:FILE.json``."""
    return word.startswith((ZOO, SCORED))


def signs_and_words(name: str) -> Iterator[tuple[str, str]]:
    """Yield each word of a name behind its sign; joined, they are the name."""
    for match in WORD.finditer(name):
        yield match[1], match[2]


def words_of(name: str) -> Words:
    """Return the words of a name.

    Raises:
        OptionsError: they do not follow one another as in a policy's name.
    """
    found = list(signs_and_words(name))
    if name.startswith(AGENT):
        return Words(name)
    if not FORM.fullmatch("".join(sign for sign, _ in found)):
        raise OptionsError(
            f"policy {name!r:.80}: is not of the form ORDER@TIMES+MODE@TIMES-PLACEMENT, as sjf@ewma+easy-best_fit"
        )
    words: dict[str, str] = {}
    for sign, word in found:
        at = "times" if "mode" in words else "order_times"
        words[{"": "order", "@": at, "+": "mode", "-": "placement"}[sign]] = word
    return Words(**words)


def beside(content: Any, folder: Path) -> Any:
    """Return the content of an options file with the paths of policies and tariffs made relative to its folder."""
    if isinstance(content, dict):
        return {rates_beside(key, folder): beside(value, folder) for key, value in content.items()}
    if isinstance(content, list):
        return [beside(value, folder) for value in content]
    if not isinstance(content, str):
        return content
    named = "".join(sign + in_folder(word, folder) for sign, word in signs_and_words(content))
    return named if named != content else rates_beside(content, folder)


def rates_beside(name: str, folder: Path) -> str:
    """Return the name of an objective with its file's path made relative to a folder; other texts unchanged."""
    kind, colon, file = name.partition(":")
    return f"{kind}:{(folder / file).absolute()}" if kind in RATED and colon and file else name


def in_folder(word: str, folder: Path) -> str:
    """Return a word of a name with the path of its file, if it has one, relative to a folder."""
    for kind in (SCORED, LEARNED):
        if word.startswith(kind) and (kind == SCORED or word.endswith((ENDING, OWN_ENDING))):
            return kind + str((folder / word.removeprefix(kind)).absolute())
    return word
