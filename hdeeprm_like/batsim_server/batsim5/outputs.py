"""The output files of a simulation."""

import contextlib
import logging
from pathlib import Path

from hdeeprm_like.batsim_server.batsim5.simulation import Simulation5
from hdeeprm_like.batsim_server.outputs import summary_of
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.files import replacing
from hdeeprm_like.results import batsim5_files, batsim_files

logger = logging.getLogger("hdeeprm_like.batsim_server")


def write_outputs(simulation: Simulation5, simulation_time: float, incomplete: str = "") -> None:
    """Write all files of ``<prefix>*``; *incomplete* says why the run did not end, and adds a marker file with that.

    Raises:
        ResultsError: a file cannot be written.
    """
    options, machines = simulation.options, simulation.machines
    prefix = options.export
    make_folder(prefix)
    marker = Path(f"{prefix}INCOMPLETE")
    if incomplete:
        with replacing(marker) as file:
            file.write(f"{incomplete}\n")
    batsim5_files.write_jobs(Path(f"{prefix}jobs.csv"), simulation.rows)
    if options.trace_machine_states:
        batsim_files.write_machine_states(Path(f"{prefix}machine_states.csv"), machines.state_rows)
    if options.trace_pstates:
        batsim_files.write_pstate_changes(Path(f"{prefix}pstate_changes.csv"), machines.pstate_rows)
    consumed = 0.0
    if machines.meter is not None:
        batsim_files.write_consumed_energy(Path(f"{prefix}consumed_energy.csv"), machines.energy_rows)
        consumed = float(machines.joules_at_last_end) - simulation.joules_at_first if simulation.rows else 0.0
    summary = summary_of(simulation, consumed, simulation_time)
    batsim5_files.write_schedule(Path(f"{prefix}schedule.json"), summary, simulation.rows, options.version)
    batsim5_files.write_execution(
        Path(f"{prefix}real_exec_info.json"), in_scheduler=simulation.scheduling_time, in_all=simulation_time
    )
    if not incomplete:
        marker.unlink(missing_ok=True)
    logger.info("results are in %s*", prefix)


def make_folder(prefix: str) -> None:
    """Create the folder of the output files.

    Raises:
        ResultsError: it cannot be created.
    """
    folder = Path(f"{prefix}x").parent
    with contextlib.suppress(FileExistsError):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as cause:
            raise ResultsError(f"{folder}: is no folder to write results to: {cause.strerror or cause}") from cause
