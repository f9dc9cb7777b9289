"""The output files of a simulation."""

import contextlib
from pathlib import Path

from hdeeprm_like.batsim_server.batsim5.simulation import Simulation5
from hdeeprm_like.batsim_server.outputs import marked, summary_of, write_traces
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.results import batsim5_files


def write_outputs(simulation: Simulation5, simulation_time: float, incomplete: str = "") -> None:
    """Write all files of ``<prefix>*``, as for Batsim 4."""
    options, machines, prefix = simulation.options, simulation.machines, simulation.options.export
    folder = Path(f"{prefix}x").parent
    with contextlib.suppress(FileExistsError):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as cause:
            raise ResultsError(f"{folder}: is no folder to write results to: {cause.strerror or cause}") from cause
    with marked(prefix, incomplete):
        batsim5_files.write_jobs(Path(f"{prefix}jobs.csv"), simulation.rows)
        write_traces(simulation, prefix, pstates=options.trace_pstates)
        measured = machines.meter is not None and simulation.rows
        consumed = float(machines.joules_at_last_end) - simulation.joules_at_first if measured else 0.0
        summary = summary_of(simulation, consumed, simulation_time)
        batsim5_files.write_schedule(Path(f"{prefix}schedule.json"), summary, simulation.rows, options.version)
        batsim5_files.write_execution(
            Path(f"{prefix}real_exec_info.json"), in_scheduler=simulation.scheduling_time, in_all=simulation_time
        )
