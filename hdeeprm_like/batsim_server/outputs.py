"""The output files of a simulation."""

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

from hdeeprm_like.batsim_server.machines import MachineState
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.formats.files import replacing
from hdeeprm_like.results import batsim_files as results

logger = logging.getLogger(__name__)


def write_outputs(simulation: Simulation, simulation_time: float, incomplete: str = "") -> None:
    """Write all files of ``<prefix>_*``; *incomplete* says why the run did not end, and adds a marker file with that.

    Raises:
        ResultsError: a file cannot be written.
    """
    prefix, machines = f"{simulation.options.export}_", simulation.machines
    with marked(prefix, incomplete):
        results.write_jobs(Path(f"{prefix}jobs.csv"), simulation.rows)
        write_traces(simulation, prefix, pstates=machines.meter is not None)
        consumed = machines.joules_at_last_end - simulation.joules_at_first if machines.meter is not None else 0.0
        results.write_schedule(Path(f"{prefix}schedule.csv"), summary_of(simulation, consumed, simulation_time))


@contextlib.contextmanager
def marked(prefix: str, incomplete: str) -> Iterator[None]:
    """Mark the files that are written as *incomplete*, unless that is empty."""
    marker = Path(f"{prefix}INCOMPLETE")
    if incomplete:
        with replacing(marker) as file:
            file.write(f"{incomplete}\n")
    yield
    if not incomplete:
        marker.unlink(missing_ok=True)
    logger.info("results are in %s*", prefix)


def write_traces(simulation: Simulation, prefix: str, pstates: bool) -> None:
    """Write the traces of the machines, with those of the P-states if wanted."""
    machines = simulation.machines
    if simulation.options.trace_machine_states:
        results.write_machine_states(Path(f"{prefix}machine_states.csv"), machines.state_rows)
    if machines.meter is not None:
        results.write_consumed_energy(Path(f"{prefix}consumed_energy.csv"), machines.energy_rows)
    if pstates:
        results.write_pstate_changes(Path(f"{prefix}pstate_changes.csv"), machines.pstate_rows)


def summary_of(simulation: Simulation, consumed: float, simulation_time: float) -> dict[str, str | int | float]:
    """Return the metrics of a whole simulation; *consumed* in J, and the wall-clock time in s."""
    machines = simulation.machines
    return results.summary_of_ended(
        results.ended_of(simulation.rows),
        machines=len(machines),
        consumed_joules=consumed,
        machine_seconds={state.name.lower(): machines.seconds[state] for state in MachineState},
        switches=(machines.grouped_switches, machines.machine_switches),
        wall_clock=(simulation.scheduling_time, simulation_time),
    )
