"""Probes: measurements of hosts that Batsim 5 sends to the scheduler.

Batsim's documentation names probes and leaves them open. What is measured here follows its source of the time before
the release candidate: joules of hosts since the beginning, at multiples of a period; the first multiple only starts the
probe, the counters stay 0, and everything else ends in an error. No conversation with probes was recorded. With
``--imitate documented`` the words of the protocol's fields hold: a probe may also measure once, at a time, and without
accumulation it measures the present power; it measures at the first multiple, too, and counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hdeeprm_like.batsim_server.batsim5.simulation import Simulation5
from hdeeprm_like.batsim_server.energy import EnergyMeter
from hdeeprm_like.batsim_server.engine import Script
from hdeeprm_like.batsim_server.options import RC2
from hdeeprm_like.batsim_server.replies import SchedulerEvent
from hdeeprm_like.batsim_server.scheduler_events import machines_of
from hdeeprm_like.batsim_server.submitters import report_later
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.results.batsim_files import interval_set
from hdeeprm_like.values import shown

AGGREGATIONS = ("NoResourcesAggregation", "Sum", "ArithmeticMean")
ONLY = {  # what Batsim 5 asserts: a field and its only value
    "metrics": "Power",
    "resources_type": "HostResources",
    "measurement_triggering_policy_type": "TemporalTriggerWrapper",
    "temporal_aggregation_function_type": "NoTemporalAggregation",
    "emission_filtering_policy_type": "NoFiltering",
}


@dataclass
class Probe:
    """A probe of the power of hosts.

    Attributes:
        machines: numbers of the hosts. meter: measures them.
        accumulates: whether it measures J since the beginning, in place of the W of the moment.
        aggregation: one of `AGGREGATIONS`.
        imitated: as in the release candidate. begun: whether its first multiple has passed.
        emitted: number of measurements sent.
    """

    name: str
    machines: Sequence[int]
    meter: EnergyMeter
    accumulates: bool
    aggregation: str
    imitated: bool
    begun: bool = field(default=False)
    emitted: int = field(default=0)

    def is_due(self) -> bool:
        """Return whether it measures at a multiple of its period; the first one starts a probe of the candidate."""
        due = self.begun or not self.imitated
        self.begun = True
        return due

    def data(self, now: float) -> dict[str, Any]:
        """Measure; return the content of the event."""
        self.meter.update(self.machines, now)
        measure = self.meter.joules_of if self.accumulates else self.meter.watts_of
        values = [measure(machine) for machine in self.machines]
        total = 0.0
        for value in values:
            total += value  # rounded one by one, as in C++
        whole = self.aggregation == "NoResourcesAggregation"
        figure = values if whole else total if self.aggregation == "Sum" else total / len(values)
        self.emitted += not self.imitated
        return {
            "probe_id": self.name,
            "resources_type": "HostResources",
            "resources": {"host_ids": interval_set(self.machines)},
            "metrics": "Power",
            "data_type": "VectorialProbeData" if whole else "AggregatedProbeData",
            "data": {"data": figure},
            "manually_triggered": False,
            "nb_emitted": self.emitted,
            "nb_triggered": self.emitted,
        }


def read_probe(simulation: Simulation5, event: SchedulerEvent) -> Probe:
    """Return the probe of a CreateProbeEvent.

    Raises:
        ProtocolError: Batsim would abort on it.
    """
    imitated = simulation.options.imitate == RC2
    for key, value in ONLY.items():
        if event.data.get(key) != value:
            raise ProtocolError(f"{event.where}: {key} is {shown(event.data.get(key))}; Batsim 5 only has {value}")
    if simulation.machines.meter is None:
        raise ProtocolError(f"{event.where}: power is measured with --energy-host only")
    accumulation = event.text("data_accumulation_strategy_type")
    accumulates = accumulation == "ProbeDataAccumulation"
    if accumulates:
        how = event.object("data_accumulation_strategy").get("reset_mode_type")
        if how != "NoReset":
            raise ProtocolError(f"{event.where}: reset_mode_type is {shown(how)}; Batsim 5 only has NoReset")
    elif accumulation != "NoProbeDataAccumulation" or imitated:
        raise ProtocolError(
            f"{event.where}: data_accumulation_strategy_type is {shown(accumulation)}; Batsim 5 only has "
            "ProbeDataAccumulation"
        )
    aggregation = event.text("resources_aggregation_function_type")
    if aggregation not in AGGREGATIONS:
        raise ProtocolError(
            f"{event.where}: resources_aggregation_function_type is {shown(aggregation)}; Batsim 5 only has "
            f"{', '.join(AGGREGATIONS)}"
        )
    machines = sorted(machines_of(simulation, event.inside("resources"), "host_ids"))
    return Probe(event.text("probe_id"), machines, simulation.machines.meter, accumulates, aggregation, imitated)


def measure_later(simulation: Simulation5, time: float, probe: Probe) -> Script:
    """Report one measurement to the server when a time has come, unless the simulation has ended."""
    return report_later(simulation, time, lambda: ("CALLS_DUE", [(probe.data(simulation.engine.now), True)]))
