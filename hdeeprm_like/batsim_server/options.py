"""The parsed command lines of both versions, with the wishes of the scheduler of Batsim 5."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from hdeeprm_like.records import Record

RC2 = "rc2"
DOCUMENTED = "documented"
IMITATED = (RC2, DOCUMENTED)
VERSIONS = {RC2: "v5.0.0-rc1-18-gba7ea85f-dirty", DOCUMENTED: "v5.0.0"}  # as printed


class ServerOptions(Record):
    """The options of one simulation; names and defaults are Batsim's."""

    platform: Path
    workloads: tuple[Path, ...] = ()
    workflows: tuple[Path, ...] = ()
    late_workflows: tuple[tuple[Path, float], ...] = ()  # each with its start in s
    workflow_jobs: int = 0  # most jobs of each workflow at a time; 0 or less: all that are ready
    only_workflows_count: bool = False  # jobs that arrive after the end of the last workflow are ignored
    energy: bool = False
    socket: str = "tcp://localhost:28000"
    export: str = "out"  # prefix of the output files
    master: str = "master_host"
    roles: Mapping[str, str] = MappingProxyType({})  # by host, besides that of the master
    mmax: int = 0  # most machines; 0: all
    mmax_workload: bool = False  # limit the machines to those that the workloads were made for
    events: tuple[Path, ...] = ()
    forward_unknown_events: bool = False
    forward_profiles: bool = False
    dynamic_jobs: bool = False
    acknowledge_dynamic_jobs: bool = False
    profile_reuse: bool = False
    compute_sharing: bool = False
    storage_sharing: bool = True
    sched_config: str = ""
    trace_machine_states: bool = True
    timeout: float | None = None  # s of wall clock to wait for a reply
    redis_hostname: str = "127.0.0.1"  # these three are only sent to the scheduler
    redis_port: int = 6379
    redis_prefix: str = "default"
    scheduler: bool = True  # False: every job starts at 0 s
    simgrid: tuple[str, ...] = ()  # NAME:VALUE of SimGrid's options
    only_dump: bool = False  # print `context` and simulate nothing

    def named_workloads(self) -> list[tuple[str, Path]]:
        """Return the files of jobs by the names of their workloads, in the order of these."""
        late = [path for path, _ in self.late_workflows]
        files = (("w", self.workloads), ("wf", self.workflows), ("wfc", late))
        return sorted((f"{letter}{i}", path) for letter, paths in files for i, path in enumerate(paths))

    def configuration(self) -> dict[str, bool | int | str]:
        """Return the ``config`` of SIMULATION_BEGINS, which contains some of the options."""
        return {
            "redis-enabled": False,
            "redis-hostname": self.redis_hostname,
            "redis-port": self.redis_port,
            "redis-prefix": self.redis_prefix,
            "profiles-forwarded-on-submission": self.forward_profiles,
            "dynamic-jobs-enabled": self.dynamic_jobs,
            "dynamic-jobs-acknowledged": self.acknowledge_dynamic_jobs,
            "profile-reuse-enabled": self.profile_reuse and self.dynamic_jobs,
            "sched-config": self.sched_config,
            "forward-unknown-events": self.forward_unknown_events,
        }

    def context(self) -> dict[str, bool | int | str]:
        """Return the output of ``--dump-execution-context``."""
        return {
            "socket_endpoint": self.socket,
            "redis_enabled": False,
            "redis_hostname": self.redis_hostname,
            "redis_port": self.redis_port,
            "redis_prefix": self.redis_prefix,
            "export_prefix": self.export,
            "external_scheduler": self.scheduler,
        }


class Options5(ServerOptions):
    """The options of one simulation of Batsim 5.

    Attributes:
        library: the C library that is the scheduler; None if it is at the socket.
        init: a text for the scheduler, sent before anything else.
        arguments: the whole command line, which is sent to the scheduler.
        imitate: ``rc2`` with the faults of the release candidate, or ``documented`` without them.
        trace_pstates: whether to write the changes of P-states.
        profiles_at_begin, profiles_of_killed: whether the scheduler then gets the profiles.
    """

    export: str = "out/"
    trace_machine_states: bool = False
    library: Path | None = None
    init: str = ""
    arguments: tuple[str, ...] = ("batsim",)
    imitate: str = RC2
    trace_pstates: bool = False
    profiles_at_begin: bool = False
    profiles_of_killed: bool = False

    @property
    def version(self) -> str:
        """Return the version that the output shows."""
        return VERSIONS[self.imitate]
