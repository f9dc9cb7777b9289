"""All kinds of observations.

The kinds are listed in `decision.specs.OBSERVATIONS`; the module of each describes its features.

With *wait*, all kinds except images end with the clock and the waiting times of the jobs in the slots; with *rates* the
hour and the rates of energy follow, see ``appended``.

Unless *raw* is set all features lie within [0, 1]; the summaries and the image do even then.
"""

import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from hdeeprm_like import limits
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision import specs
from hdeeprm_like.decision.layout import Block, names_of
from hdeeprm_like.decision.observations.appended import block_of_rates, rates_over_time, with_waits, write_hours
from hdeeprm_like.decision.observations.arrays import Observation, Sizes, ViewOptions, new_params
from hdeeprm_like.decision.observations.arrays import ViewArrays as ViewArrays
from hdeeprm_like.decision.rates import Rates
from hdeeprm_like.decision.window.arrays import Window
from hdeeprm_like.decision.window.window import JobWindow
from hdeeprm_like.engine.bundles import Bundle, part
from hdeeprm_like.engine.compiled import callback, entry, inlined
from hdeeprm_like.engine.dispatch import by_number, check_names
from hdeeprm_like.engine.numbers import REQUESTED
from hdeeprm_like.engine.state import Needs, State
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.types import Float32s, Floats

Kind: TypeAlias = specs.Kind
KINDS = tuple(specs.OBSERVATIONS)

OBSERVATIONS: dict[str, Observation] = {
    name: specs.code_of("observations", name, f"observations.{spec.code}") for name, spec in specs.OBSERVATIONS.items()
}
"""All kinds by name."""

check_names("observations", KINDS, [one.name for one in OBSERVATIONS.values()], "decision.specs.OBSERVATIONS")
WITH_WAITS = {one.name: with_waits(one) for one in OBSERVATIONS.values() if not one.is_image}


NUMBERED: tuple[Observation, ...] = (*OBSERVATIONS.values(), *WITH_WAITS.values())  # by VIEW.kind


write_kind = by_number({number: one.write for number, one in enumerate(NUMBERED)})


@callback
@inlined
def write_view(tables: Tables, window: Window, view: ViewArrays, out: Float32s) -> None:
    """Write the observation of a run into (F,) float32, an image row by row."""
    end = len(out)
    if len(view.rate_times) > 0:
        end -= 2 + 2 * len(view.rates[0])
        write_hours(tables, view, out, end)
    write_kind(view.params[0].kind, tables, window, view, part(out, 0, end))


def needs_of_view(observation: Observation, limits: JobLimits) -> Needs:
    """Return the sorted lists of waiting jobs that an observation reads; none for resources that no job requests."""
    wanted = (limits.time, limits.cores, limits.memory, limits.bandwidth)
    orders = zip(observation.orders, wanted, strict=False)
    return Needs(searched=tuple((order, REQUESTED) for order, most in orders if most > 0.0))


def make_room(view: ViewArrays, jobs: int) -> None:
    """Grow the arrays to *jobs* jobs; with Batsim jobs become known during the run."""
    if view.features.shape[1] > 0 and len(view.features) < jobs:
        grown = np.zeros((jobs, view.features.shape[1]), np.float32)
        grown[: len(view.features)] = view.features
        view.features = grown


def check_view(kind: str, options: ViewOptions, more: bool) -> None:
    """Raise if there is no such view, see `View`.

    Args:
        more: whether waiting times or rates are also shown.

    Raises:
        OptionsError: a value is invalid.
    """
    horizon, backlog, memory_units = options.horizon, options.backlog, options.memory_units
    if kind not in OBSERVATIONS:
        raise OptionsError(f"observation {kind!r} is not known{did_you_mean(kind, OBSERVATIONS)}")
    if not options.queue_sensitivity > 0.0:
        raise OptionsError(f"queue_sensitivity is {options.queue_sensitivity}; a positive share is needed, as 0.05")
    if horizon < 1 or backlog < 0 or memory_units < 0:
        raise OptionsError(f"an observation of {horizon} steps, {backlog} jobs and {memory_units} units cannot be")
    if max(horizon, backlog, memory_units) > limits.STEPS.most:
        raise OptionsError(f"horizon, backlog, memory_units: {limits.refusal(limits.STEPS)}")
    if not 0.0 <= options.step < np.inf:
        raise OptionsError(f"step is {options.step:g}; a time in s is needed")
    if more and OBSERVATIONS[kind].is_image:
        raise OptionsError(
            f"wait, rates: observation {kind!r} has no place for waiting times or rates; take another one"
        )


class View:
    """Observer of one run; see the module for its kinds.

    Attributes:
        kind: one of `OBSERVATIONS`. shape: of an observation. arrays: read and written by compiled code.
    """

    def __init__(
        self,
        state: State,
        window: JobWindow,
        kind: str = "normal",
        options: ViewOptions = ViewOptions(),  # noqa: B008 - frozen
        raw: bool = False,
        rates: Mapping[str, Rates] | None = None,
    ) -> None:
        """Make the observer of a run.

        Args:
            window: its slots are shown; it records what jobs find, for the kinds compact and horizon.
            raw: whether features are unscaled.
            rates: of energy that are shown with the hour, by the names of their objectives; None for neither.

        Raises:
            OptionsError: a value is invalid.
            ValueError: the state does not maintain the sorted lists that this kind reads.
        """
        check_view(kind, options, options.wait or rates is not None)
        self.observation = observation = WITH_WAITS[kind] if options.wait else OBSERVATIONS[kind]
        if observation.features and not window.arrays.params["finds"][0]:
            raise OptionsError(f"observation {kind!r} needs a window that keeps what jobs find (finds=True)")
        state.require(needs_of_view(observation, state.limits), f"observation {kind!r}")
        self.kind = kind
        self._window = window
        self._sizes = Sizes(state.platform, window.slots, options)
        self._more = () if rates is None else (block_of_rates(list(rates)),)
        shape = observation.shape(self._sizes)
        shape = (shape[0] + sum(one.width for one in self._more), *shape[1:])
        numbers = math.prod(shape)
        if numbers > limits.OBSERVATION.most:
            wanted = f"an observation of {numbers:,} numbers"
            raise OptionsError(f"{wanted}: {limits.refusal(limits.OBSERVATION)}; take fewer steps or slots")
        params = new_params(state.platform, state.limits)
        params["horizon"], params["backlog"], params["step"] = options.horizon, options.backlog, options.step or 1.0
        params["memory_units"], params["sensitivity"] = options.memory_units, options.queue_sensitivity
        params["raw"] = raw
        params["kind"] = NUMBERED.index(observation)
        params["features"] = kept = len(observation.features)
        most = state.limits
        times, values = rates_over_time(list(rates.values()), raw) if rates else (np.zeros(0), np.zeros((0, 0)))
        self.arrays = ViewArrays(
            params=params,
            features=np.zeros((len(state.tables.jobs) if kept else 0, kept), np.float32),
            limits=np.array([most.time, most.cores, most.memory, most.bandwidth]),
            memory=np.array(observation.memory),
            rate_times=times,
            rates=values,
        )
        self.shape = shape

    def __call__(self, state: State) -> Floats:
        """Return the observation now."""
        make_room(self.arrays, len(state.tables.jobs))
        out = Written(np.empty(int(np.prod(self.shape)), np.float32))
        write_into(state.tables, self._window.arrays, self.arrays, out)
        return out.features.reshape(self.shape)

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each feature, of an image row by row."""
        return (*self.observation.names(self._sizes), *names_of(self._more))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The column blocks of an observation."""
        return (*self.observation.blocks(self._sizes), *self._more)


class Written(Bundle):
    """(F,) float32, the output of an observation."""

    features: Floats


@entry
def write_into(tables: Tables, window: Window, view: ViewArrays, out: Written) -> None:
    """Write the observation of a run."""
    write_view(tables, window, view, out.features)
