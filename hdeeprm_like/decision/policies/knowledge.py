"""What baselines know about users, and the scores that use it: shared by all baselines of an action space."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from hdeeprm_like.decision.names import Baseline, number_of_times
from hdeeprm_like.decision.policies.history import DEMANDS, OUTLOOKS, History, new_history, read_history
from hdeeprm_like.decision.policies.history import make_room as make_room_in
from hdeeprm_like.decision.policies.placing import Placing, new_placing
from hdeeprm_like.decision.policies.run_times import known_or_predicted
from hdeeprm_like.decision.policies.scores import Scores, new_scores
from hdeeprm_like.decision.tree_files import predictor
from hdeeprm_like.engine.bundles import Bundle, BundleType
from hdeeprm_like.engine.compiled import by_type, callback, inlined
from hdeeprm_like.engine.job_keys import known_time
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import Tables, longer
from hdeeprm_like.types import Floats


class Knowledge(Bundle):
    """What some baselines share that most do not need; only functions called by address read it.

    Attributes:
        history: past jobs of users. scores: of learned policies. placing: placement scores.
    """

    history: History
    scores: Scores
    placing: Placing


class NoKnowledge(Bundle):
    """Stand-in for the knowledge of baselines that need none."""

    nothing: Floats


def no_knowledge() -> Knowledge:
    """Return that stand-in."""
    return cast(Knowledge, NoKnowledge(np.zeros(0)))


def new_knowledge(state: State, baselines: Sequence[Baseline], predictors: Sequence[str]) -> Knowledge:
    """Return the knowledge of baselines before the first arrival.

    Args:
        predictors: learned ones in use.
    """
    times = [number_of_times(baseline.order_times, predictors) for baseline in baselines]
    learned = [baseline.learned for baseline in baselines]
    used = [number for number, policy in zip(times, learned, strict=True) if policy]
    viewed = tuple(dict.fromkeys((*OUTLOOKS, *used)))
    views = [viewed.index(number) if number in viewed else 0 for number in times]
    return Knowledge(
        history=new_history(state, [predictor(one) for one in predictors], viewed),
        scores=new_scores(learned, views, len(state.tables.jobs), DEMANDS),
        placing=new_placing(state, baselines),
    )


def make_room_for_jobs(knowledge: Knowledge, jobs: int) -> None:
    """Grow the arrays to *jobs* jobs; with Batsim jobs become known during the run."""
    make_room_in(knowledge.history, jobs)
    knowledge.scores.keys = longer(knowledge.scores.keys, jobs)


# --- functions of knowledge that are called by address


@callback
def follow(tables: Tables, knowledge: Knowledge) -> None:
    """Update the history with what has happened."""
    read_history(tables, knowledge.history)


@by_type
def expected_time(tables: BundleType, knowledge: BundleType, times: object, j: object) -> object:
    """Return the assumed run time of a job in s; *times* is a number of ``names.number_of_times``."""
    return known_only if knowledge.kind == "NoKnowledge" else assumed_time


@inlined
def known_only(tables: Tables, knowledge: object, times: int, j: int) -> float:
    """Return a run time that needs no history."""
    return known_time(tables, times, j)


@callback
def assumed_time(tables: Tables, knowledge: Knowledge, times: int, j: int) -> float:
    """Return a run time that may be predicted from the past."""
    return known_or_predicted(tables, knowledge.history, times, j)
