"""What baselines know about users, and the scores that use it: shared by all baselines of an action space."""

import functools
from collections.abc import Sequence

from hdeeprm_like.decision.names import Baseline, number_of_times
from hdeeprm_like.decision.policies.history import OUTLOOKS, History, new_history, read_history
from hdeeprm_like.decision.policies.placing import Placing, new_placing
from hdeeprm_like.decision.policies.run_times import known_or_predicted
from hdeeprm_like.decision.policies.scores import Scores, new_scores
from hdeeprm_like.decision.tree_files import predictor
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import callback
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import Tables


class Knowledge(Bundle):
    """What some baselines share that most do not need; only functions called by address read it.

    Attributes:
        history: past jobs of users. scores: of learned policies. placing: placement scores.
    """

    history: History
    scores: Scores
    placing: Placing


@functools.cache
def no_knowledge() -> Knowledge:
    """Return the knowledge of baselines that need none: the same for all of these, as nothing writes to it."""
    return Knowledge(new_history(0), new_scores((), ()), new_placing(None, ()))


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
        history=new_history(len(state.tables.jobs), [predictor(one) for one in predictors], viewed),
        scores=new_scores(learned, views),
        placing=new_placing(state, baselines),
    )


# --- functions of knowledge that are called by address


@callback
def follow(tables: Tables, knowledge: Knowledge) -> None:
    """Update the history with what has happened."""
    read_history(tables, knowledge.history)


@callback
def assumed_time(tables: Tables, knowledge: Knowledge, times: int, j: int) -> float:
    """Return the assumed run time of a job in s; *times* is a number of ``names.number_of_times``."""
    return known_or_predicted(tables, knowledge.history, times, j)
