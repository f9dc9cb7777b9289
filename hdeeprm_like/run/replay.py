"""Replay of a trace: jobs start at their recorded times, and predictors are evaluated at each submission.

Nothing is decided or simulated: the recorded events are written into the tables in the order of time, so that the
history at each moment is what a scheduler of that machine knew.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.names import baseline, number_of_times
from hdeeprm_like.decision.policies.history import History, new_history, read_history
from hdeeprm_like.decision.policies.own_times import OwnTimes
from hdeeprm_like.decision.policies.run_times import describe_for_trees, known_or_predicted
from hdeeprm_like.decision.tree_files import FEATURES, Predictor, is_own, is_predictor, predictor
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import entry
from hdeeprm_like.engine.lifecycle import note_change
from hdeeprm_like.engine.numbers import REQUESTED
from hdeeprm_like.engine.running_jobs import BY_SIZE, add_running, remove_running
from hdeeprm_like.engine.state import Needs, State
from hdeeprm_like.engine.tables import COMPLETED, ENDED, RUNNING, STARTED, SUBMITTED, WAITING, Tables
from hdeeprm_like.types import Floats, Ints

END, SUBMIT, ASK, START = range(4)  # event types, in the order in which they happen at one time
NO_TREES = Predictor(0.0, ())  # predicts the request; with it one kind of history serves all


class Replay(Bundle):
    """Events and predictions of a replay; E events, J jobs, P predictors, F features.

    Attributes:
        time: (E,) s, ascending. kind: (E,) of the above. job: (E,).
        predictors: (P,) numbers of run times. predicted: (P, J) s. features: (J, F) of jobs at their submission.
    """

    time: Floats
    kind: Ints
    job: Ints
    predictors: Ints
    predicted: Floats
    features: Floats


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for jobs at their submission.

    Attributes:
        predicted: (P, J) s. features: (J, F) of ``tree_files.FEATURES``, nan if unknown.
    """

    predicted: Floats
    features: Floats


def replay(platform: Platform, jobs: Workload, start: Floats, times: Sequence[str] = ()) -> Predictions:
    """Return the predictions for each job at its submission, and the features of learned predictors.

    Args:
        start: (J,) s, not before the submission. times: names of run times.

    Raises:
        OptionsError: the file of a learned predictor cannot be used.
    """
    names = tuple(dict.fromkeys(name for name in times if is_predictor(name)))
    state = State(platform, jobs, log=False, named=False, needs=Needs((), ((BY_SIZE, REQUESTED),)))
    history = new_history(len(state.tables.jobs), [predictor(name) for name in names] or [NO_TREES])
    count = len(jobs)
    run_time = state.tables.jobs["run_time"][:count]
    time = np.concatenate([start + run_time, jobs.submit, jobs.submit, start])
    kind, job = np.repeat(np.array([END, SUBMIT, ASK, START]), count), np.tile(np.arange(count), 4)
    place = kind.copy()
    place[:count][run_time == 0.0] = START + 1  # a job of 0 s ends after it has started
    order = np.lexsort((job, place, time))
    predictors = np.array([number_of_times(name, names) for name in times], np.int64)
    events = Replay(
        time[order],
        kind[order],
        job[order],
        predictors,
        np.zeros((len(times), count)),
        np.zeros((count, len(FEATURES))),
    )
    if any(map(is_own, names)):
        play_in_python(state, history, events, OwnTimes(state, [baseline(f"sjf@{name}") for name in names]))
    else:
        play(state.tables, history, events)
    return Predictions(events.predicted, events.features)


@entry
def play(tables: Tables, history: History, replay: Replay) -> None:
    """Process all events, and record the predictions."""
    for e in range(len(replay.time)):
        tables.clock[0].now = replay.time[e]
        if replay.kind[e] == ASK:
            read_history(tables, history)
            note_predictions(tables, history, replay, replay.job[e])
        else:
            happen(tables, replay.kind[e], replay.job[e])


def play_in_python(state: State, history: History, replay: Replay, own: OwnTimes) -> None:
    """Do the same, including users' own predictors."""
    for time, kind, j in zip(replay.time.tolist(), replay.kind.tolist(), replay.job.tolist(), strict=True):
        state.tables.clock["now"] = time
        if kind == ASK:
            read_history(state.tables, history)
            own.write_of(history, np.array([j]))
            note_predictions(state.tables, history, replay, j)
        else:
            happen(state.tables, kind, j)


@entry
def note_predictions(tables: Tables, history: History, replay: Replay, j: int) -> None:
    """Record the predictions for a submitted job."""
    describe_for_trees(tables, history, replay.features[j], j)
    for i in range(len(replay.predictors)):
        replay.predicted[i, j] = known_or_predicted(tables, history, replay.predictors[i], j)


@entry
def happen(tables: Tables, kind: int, j: int) -> None:
    """Submit, start or end a job; cores are not counted, since machines change during long traces."""
    job, now = tables.jobs[j], tables.clock[0].now
    if kind == SUBMIT:
        job.status, job.first = WAITING, j
        note_change(tables, SUBMITTED, j)
    elif kind == START:
        job.status, job.start = RUNNING, now
        add_running(tables, j)
        note_change(tables, STARTED, j)
    else:
        remove_running(tables, j)
        job.status, job.finish = COMPLETED, now
        note_change(tables, ENDED, j)
