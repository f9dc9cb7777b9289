"""R04: first arrived against shortest on MetaCentrum2, if its trace is there."""

import numpy as np

from hdeeprm_like.experiment import Overrides, load_experiment
from hdeeprm_like.formats.open import load_platform
from hdeeprm_like.studies.jobstat import jobstat
from hdeeprm_like.studies.reproduction.measures.gaia import play
from hdeeprm_like.studies.reproduction.place import Findings, Place

TRACE = "METACENTRUM-2013-3"


def measure(place: Place) -> Findings:
    """Count the cores, and play both policies if the jobs are there."""
    found = Findings({"cores": load_platform(place.example("platforms/mc2.json")).cores})
    trace = place.trace(TRACE)
    if trace is None:
        return found
    first, shortest = (load_experiment(place.options(name), Overrides(trace=trace)) for name in ("first", "shortest"))
    jobs = first.workload
    statistics = {"time_max": ("req_time", "max"), "time_p95": ("req_time", "p95"), "time_p99": ("req_time", "p99")}
    found.values |= {key: jobstat(jobs, *what) for key, what in statistics.items()}
    one, other = play(first), play(shortest)
    found.values |= {
        "size_p99": jobstat(jobs, "size", "p99"),
        "starts": float(np.abs(one.schedule.start - other.schedule.start).max()),
        "slowdown": one.figures["slowdown"] / other.figures["slowdown"],
        "busy": float(max(one.busy()[1].max(), other.busy()[1].max())),
    }
    return found
