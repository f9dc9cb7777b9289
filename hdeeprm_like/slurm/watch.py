"""Watching a Slurm: look, ask the policy for the order, change few priorities, log why; and leave nothing behind.

    look -> follow -> rank -> factors -> the file -> Slurm

The factors that may be set are on disk before Slurm hears of them. They go back to 0 when the watch ends, when Slurm
could not be looked at for longer than its patience, and before anything else when another watch left some behind.
"""

import logging
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event

from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.ranking import Ranked
from hdeeprm_like.engine.numbers import WATCH_DEPTH, WATCH_FACTOR, WATCH_INTERVAL, WATCH_RATE
from hdeeprm_like.errors import OptionsError, ProtocolError
from hdeeprm_like.signals import raised_by
from hdeeprm_like.slurm.commands import BATCH, Denied, Slurm
from hdeeprm_like.slurm.factors import FactorFile, put_back, put_back_in_time, wanted_factors
from hdeeprm_like.slurm.follow import Follower, Look
from hdeeprm_like.slurm.journal import Journal, Past, reasons
from hdeeprm_like.slurm.shown import OVER, RUNS, WAITS, Job

log = logging.getLogger(__name__)

PARTING = 60.0  # s for putting factors back at the end
ENDINGS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # what ends a watch


class Ended(BaseException):
    """A signal ended the watch while nothing was changed; no `Exception`, which libraries may catch."""


@contextmanager
def ending_at_once(stop: Event | None) -> Iterator[None]:
    """Allow a signal to interrupt a block without side effects, such as the compilation of a policy.

    Args:
        stop: is set by the signal; None where no signal ends the watch.

    Raises:
        Ended: a signal has come, in the block or before it.
    """

    def end(number: int) -> BaseException:
        assert stop is not None
        stop.set()
        return Ended()

    if stop is None:
        yield
        return
    with raised_by(ENDINGS, end):
        if stop.is_set():
            raise Ended
        yield


@dataclass(frozen=True)
class WatchOptions:
    """How a Slurm is watched.

    Attributes:
        policy: that orders the jobs. apply: whether to set factors; else changes are only logged.
        most: the largest factor. depth: so many jobs have one at most, the first by the policy.
        partitions: whose jobs and nodes are the machine. users: whose jobs may have factors. Both: none for all.
        interval: s between two looks. rate: changes a second at most. patience: s without a good look before all
            factors go back to 0.
    """

    policy: Baseline
    apply: bool = False
    most: int = WATCH_FACTOR
    depth: int = WATCH_DEPTH
    partitions: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    interval: float = WATCH_INTERVAL
    rate: float = WATCH_RATE
    patience: float = 60.0


Clock = Callable[[], float]  # returns s since 1970


@dataclass
class Places:
    """Where each waiting job stood at the last look, from 1 on: by the policy, and by Slurm's priorities."""

    policy: dict[int, int] = field(default_factory=dict)
    slurm: dict[int, int] = field(default_factory=dict)


class Watch:
    """One watch of one Slurm.

    Attributes:
        factors: of jobs by number, as far as is known; in a dry run those that would be set.
    """

    def __init__(
        self, slurm: Slurm, options: WatchOptions, file: FactorFile, journal: Journal, clock: Clock = time.time
    ) -> None:
        self.slurm, self.options, self.file, self.journal = slurm, options, file, journal
        self.factors: dict[int, int] = {}
        self._clock = clock
        past = Past(file.path.with_name(f"{file.path.name}.past"))
        self._follower = Follower(options.policy, options.partitions, past)
        self._places = Places()
        self._looked_at = clock()  # s since 1970, of the last good look
        self._lost_since: float | None = None
        self._started: str | None = None  # start of slurmctld, as it reports it
        self._doubted: set[int] = set()  # jobs whose factor Slurm may not have set
        self._seen: set[int] = set()  # jobs that waited or ran at the last look
        self._stop: Event | None = None  # ends the watch; None outside `run`
        self._put_back = True  # whether, in a loss, all factors have gone back to 0

    def run(self, stop: Event) -> None:
        """Look again and again until *stop* is set.

        Raises:
            OptionsError: another watch sets factors, or this Slurm heeds none.
            Denied: Slurm does not permit us to set priorities.
            ProtocolError: factors could not be put back at the end; the file still has them.
        """
        begun, self._stop = False, stop
        try:
            while not stop.is_set():
                began = time.monotonic()
                try:
                    begun = begun or self.begin()
                    self.look()
                except Denied:
                    raise
                except Ended:
                    break
                except ProtocolError as error:
                    self.lost(error)
                self.journal.write()
                stop.wait(max(self.options.interval - (time.monotonic() - began), 0.05))
        finally:
            self.end()

    def begin(self) -> bool:
        """Check that Slurm does what is wanted, and put back what an earlier watch has left; return True.

        Raises:
            OptionsError: it does not. ProtocolError: it does not answer.
        """
        with ending_at_once(self._stop):
            settings, nodes = self.slurm.settings(), self.slurm.nodes()
        known = {partition for node in nodes.values() for partition in node.partitions}
        for partition in self.options.partitions:
            if partition not in known:
                raise OptionsError(f"--partition {partition}: Slurm knows {', '.join(sorted(known))}")
        if self.options.apply:
            check_priorities(settings)
            if left := put_back(self.slurm, self.file):
                self.journal.add("restored", jobs=left, why="an earlier watch left them")
        self.journal.add(
            "begin",
            policy=self.options.policy.name,
            mode="apply" if self.options.apply else "dry run",
            slurm=settings.get("slurm_version", "?"),
            cluster=settings.get("clustername", "?"),
            nodes=len(nodes),
        )
        return True

    def look(self) -> None:
        """Read Slurm once, and apply the changes.

        Raises:
            ProtocolError: Slurm cannot be read, or does not accept changes.
        """
        with ending_at_once(self._stop):
            jobs, nodes, now, settings = self.slurm.jobs(), self.slurm.nodes(), self._clock(), self.slurm.settings()
        self._note_start(settings)
        if self._lost_since is not None:
            self._found_again(now)
        self._looked_at = now
        with ending_at_once(self._stop):
            found = self._follower.look(now, jobs, nodes)
            order, ranked = self._follower.rank()
        self._tell_of(found, now)
        alive = {job.number: job for job in jobs if job.phase != OVER}
        self._forget(alive, found)
        changes = self._changes(order, alive)
        now_due = dict(list(changes.items())[: max(int(self.options.rate * self.options.interval), 1)])
        self._note_places(order, alive)
        running = sum(job.phase == RUNS for job in alive.values())
        behind = len(changes) - len(now_due)
        self.journal.add("look", waiting=len(order), running=running, changes=len(now_due), behind=behind)
        self._explain(now_due, order, ranked, alive)
        self._set(now_due)

    def lost(self, error: ProtocolError) -> None:
        """Take note that a look failed; put all factors back if that has lasted for long."""
        now = self._clock()
        if self._lost_since is None:
            self._lost_since, self._put_back = self._looked_at, not self.file.factors
            self.journal.add("lost", why=str(error))
            log.warning("%s; it is tried again", error)
        self._doubted = set(self.factors)
        if now - self._lost_since > self.options.patience and not self._put_back and self.options.apply:
            try:
                count = put_back(self.slurm, self.file)
            except ProtocolError as still:
                log.info("factors are still set: %s", still)
                return
            self._put_back, self.factors, self._doubted = True, {}, set()
            self.journal.add("restored", jobs=count, why=f"no good look for {self.options.patience:g} s")

    def end(self) -> None:
        """Put all factors back.

        Raises:
            ProtocolError: that does not work; the file still has them.
        """
        try:
            if self.options.apply and self.file.factors:
                try:
                    count = put_back_in_time(self.slurm, self.file, PARTING)
                except ProtocolError as error:
                    self.journal.add("failed", why=str(error))
                    raise ProtocolError(
                        f"factors are still set ({error}); when Slurm answers: slurm restore --state {self.file.path}"
                    ) from None
                self.journal.add("restored", jobs=count, why="the watch ends")
            self.journal.add("end")
        finally:
            self.journal.write()

    def _note_start(self, settings: dict[str, str]) -> None:
        """Doubt all factors if slurmctld was restarted: it loses what it had not saved when it was killed."""
        started = settings.get("boot_time", "")
        if self._started is not None and started != self._started:
            self.journal.add("restarted")
            self._doubted = set(self.factors)
        self._started = started

    def _found_again(self, now: float) -> None:
        assert self._lost_since is not None
        seconds = now - self._lost_since
        if seconds > self.options.patience:
            if self.options.apply and not self._put_back:
                count = put_back(self.slurm, self.file)
                self.journal.add("restored", jobs=count, why=f"Slurm was away for {seconds:.0f} s")
            self.factors, self._doubted = {}, set()
        self._lost_since = None
        self.journal.add("found again", after=round(seconds, 1))

    def _forget(self, alive: dict[int, Job], found: Look) -> None:
        """Forget the factors of jobs that are over, and of those whose number another job has now.

        A task of an array that has got a number of its own since the last look has the factor of the array.
        """
        fresh = [job for number, job in alive.items() if number not in self._seen and job.array in self.factors]
        self.factors |= {job.number: self.factors[job.array] for job in fresh if job.number not in self.factors}
        self.factors = {job: factor for job, factor in self.factors.items() if job in alive and job not in found.anew}
        self._seen = set(alive)

    def _changes(self, order: list[int], alive: dict[int, Job]) -> dict[int, int]:
        """Return the factors to change, the first jobs first."""
        users = self.options.users
        mine = [job for job in order if not users or alive[job].user in users]
        wanted = wanted_factors(mine, self.factors, self.options.most, self.options.depth)
        ranked = set(order)
        for job in self.factors:  # those that are held now
            if job not in ranked and alive[job].phase == WAITS:
                wanted[job] = 0
        return {
            job: factor for job, factor in wanted.items() if self.factors.get(job, 0) != factor or job in self._doubted
        }

    def _set(self, changes: dict[int, int]) -> None:
        """Set factors, after they have been written down.

        A change whose answer is lost may have been made: until Slurm says that it was, it counts as made if it sets a
        factor, and as not made if it takes one back.
        """
        jobs = list(changes)
        for i in range(0, len(jobs), BATCH):
            batch = {job: changes[job] for job in jobs[i : i + BATCH]}
            before = self.factors
            self.factors = before | {job: factor for job, factor in batch.items() if factor}
            refused: dict[int, str] = {}
            if self.options.apply:
                self.file.write(self.factors)
                try:
                    refused = self.slurm.set_factors(batch)
                except Denied:
                    self.file.write(before)
                    raise
            for job, factor in batch.items():
                if job in refused:  # it ended or was cancelled in between
                    self.journal.add("refused", job=job, why=refused[job])
                if factor == 0 or job in refused:
                    self.factors.pop(job, None)
                if job in refused and job in before:
                    self.factors[job] = before[job]
            self._doubted -= batch.keys()

    def _tell_of(self, found: Look, now: float) -> None:
        for job in found.started:
            self.journal.add(
                "started",
                job=job.number,
                place=self._places.policy.get(job.number),
                slurm_place=self._places.slurm.get(job.number),
                of=len(self._places.policy),
                waited=round(job.start - job.submit) if job.start >= job.submit else None,
                factor=self.factors.get(job.number, 0),
            )
        for job in found.over:
            self.journal.add(
                "over",
                job=job.number,
                user=job.user,
                cpus=job.cpus,
                limit=job.limit,
                submit=job.submit,
                start=job.start if job.ran and job.start == job.start else None,
                end=job.end if job.end == job.end else now,
            )

    def _note_places(self, order: list[int], alive: dict[int, Job]) -> None:
        by_priority = sorted(order, key=lambda job: (-alive[job].priority, job))
        self._places = Places(
            {job: place for place, job in enumerate(order, 1)}, {job: place for place, job in enumerate(by_priority, 1)}
        )

    def _explain(self, changes: dict[int, int], order: list[int], ranked: Ranked, alive: dict[int, Job]) -> None:
        """Log the changes and their reasons."""
        place_of = {job: i for i, job in enumerate(order)}
        for job, factor in changes.items():
            i = place_of.get(job)
            self.journal.add(
                "set" if self.options.apply else "would set",
                job=job,
                user=alive[job].user,
                factor=factor,
                before=self.factors.get(job, 0),
                place=i + 1 if i is not None else None,
                slurm_place=self._places.slurm.get(job),
                of=len(order),
                key=round(float(ranked.keys[i]), 6) if i is not None else None,
                because=reasons(ranked.because, i) if i is not None else {},
            )


def check_priorities(settings: dict[str, str]) -> None:
    """Refuse a Slurm that heeds no site factors, or gives them itself.

    Raises:
        OptionsError: it is one.
    """
    kind = settings.get("prioritytype", "")
    if kind != "priority/multifactor":
        raise OptionsError(
            f"PriorityType is {kind or 'not shown'}: Slurm heeds site factors with priority/multifactor only; "
            "--dry-run works all the same"
        )
    plugin = settings.get("prioritysitefactorplugin", "(null)")
    if plugin.strip("()") not in ("null", "none", "") and plugin != "site_factor/none":
        raise OptionsError(f"PrioritySiteFactorPlugin is {plugin}, which sets site factors itself; use --dry-run")
