"""HDeepRM's decision system as a scheduler of PyBatsim 3.1, under its own launcher (see ``hdeeprm_like.entry``)."""

from typing import Any

from batsim.batsim import BatsimScheduler

from hdeeprm_like.batsim.endpoint import LINGER, PARTING, refuse
from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.engine.state import Commands
from hdeeprm_like.errors import OptionsError, ProtocolError

OUTCOMES = {
    "nb_jobs_successful": "COMPLETED_SUCCESSFULLY",
    "nb_jobs_failed": "COMPLETED_FAILED",
    "nb_jobs_timeout": "COMPLETED_WALLTIME_REACHED",
    "nb_jobs_killed": "COMPLETED_KILLED",
}  # PyBatsim's counters of ended jobs
PYBATSIM_EVENTS = ("SIMULATION_BEGINS", "SIMULATION_ENDS")  # the first and the last event of PyBatsim's own loop


class Scheduler(BatsimScheduler):  # type: ignore[misc]
    """Handles Batsim's messages within PyBatsim's loop, which then need not create objects per job and event.

    Attributes:
        conversation: with Batsim.
    """

    def __init__(self, conversation: Conversation, options: dict[str, Any] | None = None) -> None:
        super().__init__(options or {})
        self.conversation = conversation
        self._batsim: Any = None
        self._commands = Commands()

    @property
    def bs(self) -> Any:
        """PyBatsim, set by PyBatsim before its first message."""
        return self._batsim

    @bs.setter
    def bs(self, batsim: Any) -> None:
        self._batsim = batsim
        network = batsim.network
        network.recv = lambda blocking=False: self.listen(network, blocking)
        network.send = lambda message: network.send_string(self.conversation.write(self._commands))

    def listen(self, network: Any, blocking: bool) -> Any:
        """Receive a message before PyBatsim does; return the part for PyBatsim, None if no message came in time."""
        try:
            text = network.recv_string(blocking=blocking)
        except UnicodeDecodeError as cause:
            raise ProtocolError(f"the message is not UTF-8 (byte {cause.start})") from None
        if text is None:
            return None
        if network.connection.rcvmore:
            raise ProtocolError("a message has several parts; one is needed")
        message = self.conversation.parse(text)
        self._commands = self.conversation.hear(message)
        self._count()
        return message | {"events": [event for event in message["events"] if event["type"] in PYBATSIM_EVENTS]}

    def _count(self) -> None:
        """Feed the counters that PyBatsim's launcher prints at the end, and of which its exit status is made."""
        heard, batsim, commands = self.conversation, self._batsim, self._commands
        batsim.nb_jobs_submitted = batsim.nb_jobs_submitted_from_batsim = len(heard.identifiers)
        batsim.nb_jobs_scheduled += len(commands.starts)
        batsim.nb_jobs_rejected += len(commands.rejects)
        batsim.nb_jobs_completed = heard.completed
        for counter, outcome in OUTCOMES.items():
            setattr(batsim, counter, heard.outcomes.get(outcome, 0))

    def refuse(self, why: str, patience: float = PARTING) -> None:
        """Refuse Batsim's next message, and free the address."""
        network = self._batsim.network if self._batsim is not None else None
        if network is not None and network.connection is not None:
            refuse(network.connection, why, patience)
            network.connection.close(linger=LINGER)
            network.connection = None
            network.context.term()

    def onDeadlock(self) -> None:
        """Raise because Batsim is silent.

        Raises:
            ProtocolError: always.
        """
        raise ProtocolError(f"Batsim has said nothing for {self._batsim.network.timeout / 1000:g} s")

    def onSimulationBegins(self) -> None:
        """Check that the first message has been processed.

        Raises:
            OptionsError: PyBatsim's validating wrapper keeps messages to itself.
        """
        if not self.conversation.begun:
            raise OptionsError("pybatsim --protect keeps messages from schedulers; run without it")
