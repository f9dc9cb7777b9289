"""R07: the jobs that Deep Back-Filling learns from."""

from hdeeprm_like.formats.open import load_trace
from hdeeprm_like.formats.requested_times import run_times
from hdeeprm_like.formats.windows import sizes, usable
from hdeeprm_like.studies.compare.inputs import machine_size
from hdeeprm_like.studies.reproduction.place import Findings, Place

DAY = 86400.0  # s


def measure(place: Place) -> Findings:
    """Return statistics of the trace."""
    trace = usable(load_trace(place.example("workloads/lublin_256.swf.gz")))
    run, size, cores = run_times(trace), sizes(trace), machine_size(trace)
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
