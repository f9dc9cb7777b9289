"""Learned job scheduling for heterogeneous HPC clusters, coupled with Batsim.

    import hdeeprm_like as hl

    gaia = hl.load_experiment("gaia")  # shipped data by name, a file by its path
    schedule = hl.simulate(gaia.platform, gaia.workload, "sjf+easy")
    print(schedule.figures["bounded_slowdown"])
    schedule.gantt("gantt.png")

| name | meaning |
|---|---|
| `simulate` | simulates jobs on a platform under one policy and returns a `Schedule` |
| `compare` | compares policies on windows of a trace and returns a table |
| `stream` | simulates a trace of any length as it is read, in bounded memory, and returns figures |
| `check_policy`, `check_agent`, `check_platform` | try a part of your own against the rules of scheduling |
| `load_agent` | reads a trained agent: of a training's folder, or one that comes along, as ``zoo/kernel-lublin`` |
| `load_platform`, `load_workload` | read a `Platform` and a `Workload` |
| `load_experiment` | reads an options file and all that it names |
| `examples` | lists the names of platforms, traces, workloads and options files that come along |
| `PRESETS` | name to decision space of each paper; `hdeeprm_like.gym` makes environments of them |
| `HDeepRMError` and its kinds | raised for invalid input |
| `__version__` | of the package |

Each name is loaded when it is first used, so importing the package takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from hdeeprm_like.version import __version__

if TYPE_CHECKING:
    from hdeeprm_like.api import (
        compare,
        examples,
        load_experiment,
        load_platform,
        load_workload,
        simulate,
        stream,
    )
    from hdeeprm_like.cluster.platform import Platform
    from hdeeprm_like.cluster.workload import Workload
    from hdeeprm_like.decision.presets import PRESETS
    from hdeeprm_like.errors import (
        AgentError,
        CheckError,
        HDeepRMError,
        OptionsError,
        PlatformError,
        ProtocolError,
        ResultsError,
        WorkloadError,
    )
    from hdeeprm_like.simulated import Schedule
    from hdeeprm_like.studies.checks.machines import check_platform
    from hdeeprm_like.studies.checks.parts import check_agent, check_policy
    from hdeeprm_like.studies.zoo_agents import load_agent

__all__ = [
    "PRESETS",
    "AgentError",
    "CheckError",
    "HDeepRMError",
    "OptionsError",
    "Platform",
    "PlatformError",
    "ProtocolError",
    "ResultsError",
    "Schedule",
    "Workload",
    "WorkloadError",
    "__version__",
    "check_agent",
    "check_platform",
    "check_policy",
    "compare",
    "examples",
    "load_agent",
    "load_experiment",
    "load_platform",
    "load_workload",
    "simulate",
    "stream",
]

_MODULES = {
    "PRESETS": "decision.presets",
    "Schedule": "simulated",
    "Platform": "cluster.platform",
    "Workload": "cluster.workload",
    "check_agent": "studies.checks.parts",
    "check_platform": "studies.checks.machines",
    "check_policy": "studies.checks.parts",
    "load_agent": "studies.zoo_agents",
}


def __getattr__(name: str) -> object:
    """Load a name of the API at its first use; Python calls this function."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULES.get(name, "errors" if name.endswith("Error") else "api")
    found: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the names of the API, loaded or not."""
    return sorted({*globals(), *__all__})
