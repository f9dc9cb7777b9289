"""R07: the jobs that Deep Back-Filling learns from."""

from hdeeprm_like.formats.job_reading import Reading, machine_size, read_jobs
from hdeeprm_like.formats.job_rules import RLSCHEDULER
from hdeeprm_like.studies.reproduction.place import Findings, Place

DAY = 86400.0  # s


def measure(place: Place) -> Findings:
    """Return statistics of the trace."""
    trace = read_jobs(place.example("workloads/lublin_256.swf.gz"), Reading(rules=RLSCHEDULER, memory=False))
    run, size, cores = trace.run, trace.processors, machine_size(trace)
    lasts, work = float(trace.submit[-1] - trace.submit[0]), float((run * size).sum())
    return Findings(
        {
            "days": lasts / DAY,
            "cores": cores,
            "sizes": f"{size.min()} to {size.max()}",
            "runs": f"{run.min():.0f} to {run.max():.0f} s",
            "work": work / len(trace),
            "rate": work / lasts,
            "load": work / lasts / cores,
        }
    )
