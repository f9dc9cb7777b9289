"""The parsed command line and handshake."""

from pathlib import Path

from hdeeprm_like.batsim_server.options import ServerOptions

RC2 = "rc2"
DOCUMENTED = "documented"
IMITATED = (RC2, DOCUMENTED)
VERSIONS = {RC2: "v5.0.0-rc1-18-gba7ea85f-dirty", DOCUMENTED: "v5.0.0"}  # as printed


class Options5(ServerOptions):
    """The options of one simulation.

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
