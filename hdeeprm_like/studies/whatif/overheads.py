"""What a Slurm loses besides its decisions: the seconds until nodes are clean again, and when its threads look.

No configuration names them. `calibration` fits them to a log.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.decision.policies.slurm_settings import END_LATENCY, TICK
from hdeeprm_like.values import NUMBER

WITHOUT_EPILOG = 0.08  # s that the nodes of a job need to be clean again, where they run no script; with its launch
WITH_EPILOG = 1.0  # s, where they do
USUAL_TICK = 1.002  # s between two looks of Slurm's main thread, which sleeps for a second and then works
LOOKS = (
    "main_phase",
    "backfill_phase",
    "first_full",
    "first_calc",
)  # settings of a platform: s, when the threads look first


@dataclass(frozen=True)
class Overheads:
    """Of a Slurm; None for what is taken from the platform, or usual.

    Attributes:
        end_latency: s from the end of a job until its nodes take others.
        main_phase, backfill_phase, first_full: s after the time 0 of the log when the main scheduler looks, when
            backfill does, and when the main scheduler looks at the full queue, the first time.
        first_calc: the same of the first computation of all priorities, each PriorityCalcPeriod.
    """

    end_latency: float | None = None
    main_phase: float | None = None
    backfill_phase: float | None = None
    first_full: float | None = None
    first_calc: float | None = None

    def of_machine(self, machine: Platform) -> Platform:
        """Return a machine with partitions that has them."""
        assert machine.partitions is not None
        settings = machine.partitions.settings
        told: dict[str, Any] = {name: getattr(self, name) for name in LOOKS if getattr(self, name) is not None}
        told[TICK] = settings.get(TICK, USUAL_TICK)
        told[END_LATENCY] = usual_latency(settings) if self.end_latency is None else self.end_latency
        return replace(machine, partitions=replace(machine.partitions, settings={**settings, **told}))


def usual_latency(settings: Mapping[str, Any]) -> float:
    """Return the s that the nodes of a job need to be clean again, as the platform has it, or as usual."""
    told = settings.get(END_LATENCY)
    if NUMBER.holds(told):
        return float(told)
    return WITH_EPILOG if settings.get("Epilog") else WITHOUT_EPILOG


USUAL = Overheads()
"""As the platform has it, or as usual."""
