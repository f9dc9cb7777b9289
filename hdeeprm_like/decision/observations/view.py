"""All that an agent can be shown, by kind.

| kind | what | shape | source |
|---|---|---|---|
| ``normal``, ``small``, ``minimal`` | a summary, see ``summary`` | (F,) | thesis 3.2.3.1 |
| ``image`` | cluster, slots and backlog as pixels, see ``image`` | (H, columns) | 000, section 4.4 |
| ``compact`` | cores over time, features of the jobs in the slots, see ``compact`` | (F,) | 000, section 4.6.1 |
| ``horizon`` | the next events, features of the jobs in the slots, see ``horizon`` | (F,) | 000, section 4.7 |
| ``backfilling`` | each core, the jobs of the split window, see ``backfilling`` | (F,) | 001, section III.A |
| ``machines`` | jobs and free machines, see ``machines`` | (F,) | 004, section II.E |

All features lie within [0, 1] unless they are asked for raw; the summaries and the image do so even then.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import numpy as np

from hdeeprm_like.decision.observations.backfilling import backfilling_names, backfilling_size, write_backfilling
from hdeeprm_like.decision.observations.compact import compact_names, compact_size, write_compact
from hdeeprm_like.decision.observations.features import COMPACT_FEATURES, HORIZON_FEATURES
from hdeeprm_like.decision.observations.horizon import horizon_names, horizon_size, write_horizon
from hdeeprm_like.decision.observations.image import image_names, width, write_image
from hdeeprm_like.decision.observations.machines import machines_names, machines_size, write_machines
from hdeeprm_like.decision.observations.rows import ViewRows as ViewRows
from hdeeprm_like.decision.observations.rows import new_rule
from hdeeprm_like.decision.observations.summary import (
    MINIMAL,
    QueueColumns,
    feature_names,
    features,
    queue_columns,
    wider,
    write_summary,
)
from hdeeprm_like.decision.window.rows import Window
from hdeeprm_like.decision.window.window import JobWindow
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.types import Floats

Kind: TypeAlias = Literal["normal", "small", "minimal", "image", "compact", "horizon", "backfilling", "machines"]
KINDS: tuple[Kind, ...] = get_args(Kind)
IMAGE, COMPACT, HORIZON, BACKFILLING = 3, 4, 5, 6

NO_QUEUE = QueueColumns(np.zeros(3, np.int64), np.zeros(0, np.int32), np.zeros((4, 0)), np.zeros(4))


@compiled
def write_summary_of(t: Tables, w: Window, v: ViewRows, out: Floats) -> None:
    """Write a summary of any kind."""
    write_summary(t, v.queue, v.rule[0].kind, v.rule[0].sensitivity, out)


@compiled
def write_view(t: Tables, w: Window, v: ViewRows, out: Floats) -> None:
    """Write the observation of any kind into (F,) float32, an image row by row."""
    kind = v.rule[0].kind
    if kind <= MINIMAL:
        write_summary_of(t, w, v, out)
    elif kind == IMAGE:
        write_image(t, w, v, out)
    elif kind == COMPACT:
        write_compact(t, w, v, out)
    elif kind == HORIZON:
        write_horizon(t, w, v, out)
    elif kind == BACKFILLING:
        write_backfilling(t, w, v, out)
    else:
        write_machines(t, w, v, out)


WRITERS: dict[Kind, Callable[[Tables, Window, ViewRows, Floats], None]] = {  # a run compiles only the one it needs
    "image": write_image,
    "compact": write_compact,
    "horizon": write_horizon,
    "backfilling": write_backfilling,
    "machines": write_machines,
}


def with_room(v: ViewRows, jobs: int) -> ViewRows:
    """Return the same rows with room for so many jobs; under Batsim they become known on the way."""
    if v.rule["kind"][0] <= MINIMAL and len(v.queue.members) < jobs:
        v = v._replace(queue=wider(v.queue, jobs))
    if v.features.shape[1] > 0 and len(v.features) < jobs:
        features_of = np.zeros((jobs, v.features.shape[1]), np.float32)
        features_of[: len(v.features)] = v.features
        v = v._replace(features=features_of)
    return v


class View:
    """Observer of one run; see the module for what it shows.

    Attributes:
        kind: one of ``KINDS``. shape: of an observation. rows: what compiled code reads and writes.
    """

    def __init__(
        self,
        state: State,
        window: JobWindow,
        kind: Kind = "normal",
        horizon: int = 20,
        backlog: int = 60,
        step: float = 1.0,
        memory_units: int = 0,
        queue_sensitivity: float = 0.05,
        raw: bool = False,
    ) -> None:
        """Show a run.

        Args:
            window: whose slots are shown; it keeps what jobs find for the kinds compact and horizon.
            horizon: time steps of an image and of the compact state, events of the semi-MDP.
            backlog: jobs outside the window that an image shows. step: s of a time step.
            memory_units: columns of an image for the memory of the cluster, 0 to leave it out.
            queue_sensitivity: share of change of the queue's length that fills the scale of a summary.
            raw: whether nothing is scaled.

        Raises:
            OptionsError: a value makes no sense.
        """
        if kind not in KINDS:
            raise OptionsError(f"observation {kind!r} is not known{did_you_mean(kind, KINDS)}")
        if not queue_sensitivity > 0.0:
            raise OptionsError(f"queue_sensitivity is {queue_sensitivity}; a positive share is needed, as 0.05")
        if horizon < 1 or backlog < 0 or memory_units < 0:
            raise OptionsError(f"an observation of {horizon} steps, {backlog} jobs and {memory_units} units cannot be")
        if not 0.0 < step < np.inf:
            raise OptionsError(f"step is {step:g}; a time in s above 0 is needed")
        if kind in ("compact", "horizon") and not window.rows.rule["finds"][0]:
            raise OptionsError(f"observation {kind!r} needs a window that keeps what jobs find (finds=True)")
        self.kind: Kind = kind
        self._window = window
        self._write = WRITERS.get(kind, write_summary_of)
        self._platform = state.platform
        rule = new_rule(state.platform, state.limits)
        rule["kind"], rule["horizon"], rule["backlog"], rule["step"] = KINDS.index(kind), horizon, backlog, step
        rule["memory_units"], rule["sensitivity"], rule["raw"] = memory_units, queue_sensitivity, raw
        kept = {"compact": len(COMPACT_FEATURES), "horizon": len(HORIZON_FEATURES)}.get(kind, 0)
        self.rows = ViewRows(
            rule=rule,
            features=np.zeros((len(state.tables.jobs) if kept else 0, kept), np.float32),
            queue=queue_columns(state) if kind in KINDS[: MINIMAL + 1] else NO_QUEUE,
        )
        self.shape = self._shape()

    def __call__(self, state: State) -> Floats:
        """Return what is to be seen now."""
        self.rows = with_room(self.rows, len(state.tables.jobs))
        out = np.empty(self.shape, np.float32)
        self._write(state.tables, self._window.rows, self.rows, out.reshape(-1))
        return out

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each feature, of an image row by row."""
        rule, platform, slots = self.rows.rule[0], self._platform, self._window.slots
        horizon = int(rule["horizon"])
        if self.kind == "image":
            return image_names(platform.cores, slots, int(rule["memory_units"]), int(rule["backlog"]), horizon)
        if self.kind == "compact":
            return compact_names(horizon, slots)
        if self.kind == "horizon":
            return horizon_names(horizon, slots)
        if self.kind == "backfilling":
            return backfilling_names(platform.cores, slots)
        if self.kind == "machines":
            return machines_names(platform.nodes, slots)
        return feature_names(platform, self.kind)

    def _shape(self) -> tuple[int, ...]:
        rule, platform, slots = self.rows.rule[0], self._platform, self._window.slots
        horizon = int(rule["horizon"])
        if self.kind == "image":
            units, backlog = int(rule["memory_units"]), int(rule["backlog"])
            return horizon, width(platform.cores, slots, units, backlog, horizon)
        if self.kind == "compact":
            return (compact_size(horizon, slots),)
        if self.kind == "horizon":
            return (horizon_size(horizon, slots),)
        if self.kind == "backfilling":
            return (backfilling_size(platform.cores, slots),)
        if self.kind == "machines":
            return (machines_size(platform.nodes, slots),)
        return (features(platform, self.kind),)
