"""Rules by which the lines of a log become jobs: the standard's, and those of two published programs.

| line | standard | hdeeprm | rlscheduler |
|---|---|---|---|
| cancelled before it started, or without a run time | left out | a job, by its request | runs for 10 s |
| ran for 0 s, that is, less than half a second | a job | a job | left out |
| partial execution (status 2, 3, 4) that the line of the whole job sums up | left out | a job | a job |
| cores | those it got, else those it requested | requested, else got | the larger of both |
| memory unknown, on a machine that has memory | needs none | left out | needs none |

Sources: Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers", 1999, and version 2.2
of the format; HDeepRM thesis 3.1.3; the reader of RLScheduler.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

RulesName: TypeAlias = Literal["standard", "hdeeprm", "rlscheduler"]


@dataclass(frozen=True)
class Rules:
    """How lines become jobs; the defaults are the standard's.

    Attributes:
        unknown_run: s for which a job without a run time runs; None leaves it out.
        by_request: whether a job needs only a requested time, whatever it ran for.
        instant: whether jobs of 0 s count. partial: whether partial executions count as jobs.
        size: cores of a job. without_memory: whether jobs of unknown memory count, as needing none.
    """

    unknown_run: float | None = None
    by_request: bool = False
    instant: bool = True
    partial: bool = False
    size: Literal["got", "requested", "larger"] = "got"
    without_memory: bool = True


STANDARD = Rules()
HDEEPRM = Rules(by_request=True, partial=True, size="requested", without_memory=False)
RLSCHEDULER = Rules(unknown_run=10.0, instant=False, partial=True, size="larger")

RULES: Mapping[RulesName, Rules] = {"standard": STANDARD, "hdeeprm": HDEEPRM, "rlscheduler": RLSCHEDULER}
