"""Runs of any length: jobs arrive in parts, and ended jobs are dropped as soon as they have been reported.

Memory holds the jobs that wait and run, and one part; the schedule equals that of a run of all jobs at once, bit for
bit. See `engine.compaction` for what such a run does not support.
"""

from collections.abc import Iterator

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import Choices, Policy, PolicyActions
from hdeeprm_like.decision.names import case_of
from hdeeprm_like.decision.policies.baselines import forget
from hdeeprm_like.decision.policies.baselines import make_room as make_room_for_plans
from hdeeprm_like.engine.compaction import compact, ended_rows, make_room
from hdeeprm_like.engine.event_clock import EventClock
from hdeeprm_like.engine.job_rows import countable, fill_jobs
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import longer
from hdeeprm_like.engine.tasks import ALL_KNOWN, fill_tasks
from hdeeprm_like.refusals import STREAM, refusal_of, refuse
from hdeeprm_like.run.loop import FOREVER, OVER, Run, advance
from hdeeprm_like.run.simulator import Clock, Simulator
from hdeeprm_like.run.to_end import constant_run
from hdeeprm_like.types import Ints, Records

AHEAD = 1.0  # s after a submission within which an instant must know all submissions

ENDED_JOB = np.dtype(
    [
        ("number", "i8"),  # number of the job among all, from 0
        ("submit", "f8"),  # s
        ("start", "f8"),
        ("finish", "f8"),
        ("requested_time", "f8"),
        ("user", "i8"),
        ("size", "i8"),  # cores
        ("outcome", "i8"),  # outcome, see `tasks`
    ]
)


def check_streams(policy: Policy, clock: str) -> None:
    """Raise if a policy or a clock keeps more data about jobs than their rows.

    Raises:
        OptionsError: it does.
    """
    refuse(case_of(policy, STREAM)._replace(clock=clock))


def streams(policy: Policy, clock: str) -> bool:
    """Return whether jobs can be streamed through a policy on a clock."""
    return refusal_of(case_of(policy, STREAM)._replace(clock=clock)) is None


def parts_of(jobs: Workload, size: int) -> Iterator[Workload]:
    """Yield the jobs of a workload without partitions, *size* at a time; nothing is copied."""
    for first in range(0, len(jobs), size):
        yield jobs.take(slice(first, first + size))


class Stream:
    """A run whose jobs arrive in parts.

    Attributes:
        simulator: the cluster and its simulator; its rows hold the jobs that wait, run or arrive next.
        numbers: of the jobs in these rows, among all, from 0.
    """

    def __init__(
        self,
        platform: Platform,
        parts: Iterator[Workload],
        policy: Policy,
        clock: Clock = "textbook",
        seed: int = 0,
        epoch: float = 0.0,
    ) -> None:
        """Begin a run.

        Args:
            parts: jobs in the order of submission, with all times on one clock. At least one part.
            seed, epoch: as in `State`.

        Raises:
            OptionsError: jobs cannot be streamed through the policy or on the clock.
            ValueError: jobs request more than identical cores.
        """
        check_streams(policy, clock)
        actions = PolicyActions([policy])
        self._parts, first = parts, next(parts)
        state = State(platform, first, seed=seed, log=False, named=False, needs=actions.needs, epoch=epoch)
        self.simulator = Simulator(state, first, clock)
        self.simulator.simulation.submit = first.submit.copy()  # rows move, but those of the part stay
        self.numbers: Ints = np.arange(len(first))
        self._jobs = len(first)
        self._choices: Choices = actions.choices(state, constant=0)
        self._baselines = actions.baselines
        self._run: Run = constant_run(self.simulator, self._choices)
        self._sim = self.simulator.simulation.sim
        self._note_known()

    def ended(self) -> Iterator[Records]:
        """Run to the end; yield the jobs in the order of their ends, (K,) ENDED_JOB at a time, K from 0 on."""
        tables, sim, over = self.simulator.state.tables, self._sim, False
        while not over:
            over = advance(self._run, FOREVER) == OVER
            rows = ended_rows(tables)
            if over or 2 * len(rows) >= sim["jobs"][0]:  # so that at most as many jobs move as have ended
                yield self._reports(rows)
                self._let_go()
            self._append(None if over else next(self._parts, None))

    def _let_go(self) -> None:
        """Drop the rows of ended jobs."""
        timing = self.simulator.clock
        assert isinstance(timing, EventClock)
        kept = compact(self.simulator.state.tables, self.simulator.simulation, timing)
        self.numbers[: len(kept)] = self.numbers[kept]
        forget(self._choices.plans, self.simulator.state, self._baselines)

    def _reports(self, rows: Ints) -> Records:
        """Return the reported data of some jobs."""
        found = np.zeros(len(rows), ENDED_JOB)
        found["number"] = self.numbers[rows]
        for name in ("submit", "requested_time", "user", "size"):
            found[name] = self.simulator.state.tables.jobs[name][rows]
        for name in ("start", "finish", "outcome"):
            found[name] = self.simulator.simulation.tasks[name][rows]
        return found

    def _append(self, part: Workload | None) -> None:
        """Append the next jobs to the rows; None if there are no more."""
        if part is None:
            self._sim["unsure_from"] = ALL_KNOWN
            return
        state, simulation = self.simulator.state, self.simulator.simulation
        if not countable(state.platform, part):
            raise ValueError("cores need names unless all jobs request only cores")
        first = int(self._sim["jobs"][0])
        last = first + len(part)
        assert isinstance(self.simulator.clock, EventClock)
        make_room(state.tables, simulation, self.simulator.clock, last)
        make_room_for_plans(self._choices.plans, state, self._baselines)
        if last > len(self.numbers):
            self.numbers = longer(self.numbers, len(state.tables.jobs))
        rows = slice(first, last)
        fill_jobs(state.tables.jobs[rows], part, state.platform.reference_flops)
        fill_tasks(simulation.tasks[rows], part)
        simulation.submit[rows] = part.submit
        self.numbers[rows] = np.arange(self._jobs, self._jobs + len(part))
        self._jobs += len(part)
        self._sim["jobs"] = last
        self._note_known()

    def _note_known(self) -> None:
        """Update the submission time after which unknown jobs may arrive, soon or at the same time."""
        submit = self.simulator.simulation.submit[: int(self._sim["jobs"][0])]
        self._sim["unsure_from"] = np.searchsorted(submit, submit[-1] - AHEAD, side="right")
