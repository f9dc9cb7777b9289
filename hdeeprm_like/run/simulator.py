"""The embedded simulator: the future of a state, as fast as the processor goes and with Batsim's results."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.engine.batsim_clock import (
    begin_answer,
    next_message,
    open_simulation,
    take_news,
    wire_time,
)
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.lifecycle import log_blocked, room_for_an_instant
from hdeeprm_like.engine.state import Commands, Instant, State
from hdeeprm_like.engine.tables import RANDOM_JOB, Tables
from hdeeprm_like.engine.tasks import Simulation, new_simulation

INSTANTS_AT_A_TIME = 1000  # between two looks at the progress


class Simulator:
    """Runs the jobs of a workload on the cluster of a state.

    It shares the state's tables: starts, rejections and P-states are applied from there when their time comes.

    Attributes:
        state: the cluster that it moves.
        simulation: its own rows, see ``Simulation``.
    """

    def __init__(self, state: State, workload: Workload) -> None:
        """Begin a simulation.

        Raises:
            ValueError: the cores of the state have no names; Batsim knows the P-state of each.
        """
        if not state.named:
            raise ValueError("Batsim's clock needs a state whose cores have names")
        self.state = state
        self.simulation = new_simulation(state.platform, workload)
        open_simulation(state.tables, self.simulation)

    def next_instant(self) -> Instant | None:
        """Run until there is something to decide and return what happened; None when nothing can happen any more."""
        self.state.make_room()
        s = self.simulation
        if not next_message(self.state.tables, s):
            return None
        sim = s.sim[0]
        completed = s.completed[: sim["completed"]].tolist()
        instant = Instant(wire_time(sim["clock"]), completed, int(sim["submitted"]), bool(sim["over"] == 2))
        sim["completed"] = sim["submitted"] = sim["called"] = 0
        return instant

    def apply(self, commands: Commands) -> None:
        """Begin to apply what was decided."""
        s = self.simulation
        kills = list(dict.fromkeys(commands.kills))
        s.kills[: len(kills)] = kills
        s.sim["kills"] = len(kills)
        s.sim["call_asked"] = commands.wake_at
        begin_answer(self.state.tables, s)

    def run_pair(self, job_policy: int, core_policy: int) -> Iterator[int]:
        """Run to the end under one policy pair in compiled code; yield now and then how many jobs are over.

        Raises:
            ValueError: the state keeps no queue for the job policy; compiled code would read beside the arrays.
        """
        if job_policy != RANDOM_JOB and self.state.tables.heap_size[job_policy] < 0:
            raise ValueError(f"the state keeps no queue for job policy {job_policy}; name it in State's policies")
        clock = self.state.tables.clock[0]
        while run_pair(self.state.tables, self.simulation, job_policy, core_policy, INSTANTS_AT_A_TIME):
            self.state.make_room()
            yield int(clock["completed"] + clock["rejected"])
        yield int(clock["completed"] + clock["rejected"])

    @property
    def unfinished(self) -> int:
        """How many jobs have neither ended nor been rejected."""
        clock = self.state.tables.clock[0]
        return int(len(self.simulation.tasks) - clock["completed"] - clock["rejected"])


def is_compiled() -> bool:
    """Tell whether the machine code of the simulator lies on disk, so that no first call has to make it."""
    stats = cast(Any, run_pair).entry.stats
    return any(Path(stats.cache_path).glob("simulator.run_pair-*.nbi"))


@compiled
def run_pair(t: Tables, s: Simulation, job_policy: int, core_policy: int, instants: int) -> bool:
    """Run so many instants under one policy pair, fewer if the log gets full; False at the end of the simulation."""
    for _ in range(instants):
        if len(t.log) > 0 and t.clock[0].logged + room_for_an_instant(t) > len(t.log):
            break
        if not next_message(t, s):
            return False
        take_news(t, s)
        apply_pair(t, job_policy, core_policy)
        log_blocked(t)
        begin_answer(t, s)
    return True
