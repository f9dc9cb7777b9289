"""The watch of an imagined Slurm: few bounded changes, nothing set in a dry run, everything put back."""

import json
from threading import Event

import pytest
from test_follow import T, job

from hdeeprm_like.decision.names import baseline
from hdeeprm_like.errors import OptionsError, ProtocolError
from hdeeprm_like.slurm.commands import ContactLost, Denied
from hdeeprm_like.slurm.factors import FactorFile, put_back, put_back_in_time
from hdeeprm_like.slurm.journal import Journal, summary
from hdeeprm_like.slurm.shown import OVER, RUNS, WAITS, Node
from hdeeprm_like.slurm.watch import Watch, WatchOptions


class ImaginedSlurm:
    """Shows jobs, and remembers what factors it was told.

    Attributes:
        told: all changes in their order. trouble: what is raised instead of an answer. lossy: whether answers to
            changes are lost.
    """

    def __init__(self, *jobs):
        self.shown = {job.number: job for job in jobs}
        self.factors = {}
        self.told = []
        self.trouble = None
        self.lossy = False
        self.before_set = lambda: None
        self.configuration = {"prioritytype": "priority/multifactor", "boot_time": "1", "clustername": "small"}

    def answer(self, value):
        if self.trouble is not None:
            raise self.trouble
        return value

    def jobs(self):
        return self.answer(list(self.shown.values()))

    def nodes(self):
        return self.answer({"n1": Node(8, True, ("normal", "debug"))})

    def settings(self):
        return self.answer(self.configuration)

    def set_factors(self, factors):
        self.before_set()
        self.answer(None)
        refused = {}
        for number, factor in factors.items():
            if number not in self.shown or self.shown[number].phase == OVER:
                refused[number] = f"Invalid job id specified for job {number}"
            else:
                self.told.append((number, factor))
                self.factors[number] = factor
        if self.lossy:
            raise ContactLost("scontrol does not end within 60 s")
        return refused

    @property
    def order(self):
        """The waiting jobs as the priorities now have them."""
        waiting = [number for number, job in self.shown.items() if job.phase == WAITS]
        return sorted(waiting, key=lambda number: -self.factors.get(number, 0))

    @property
    def set_now(self):
        return {number: factor for number, factor in self.factors.items() if factor}


def waiting(number, limit, **other):
    return job(number, cpus=2, limit=limit, **other)


class Room:
    """An imagined Slurm and its watch, which looks when it is told to."""

    def __init__(self, folder, *jobs, apply=True, policy="sjf", **options):
        self.slurm = ImaginedSlurm(*jobs)
        self.file = FactorFile(folder / "factors.json")
        self.log = folder / "watch.jsonl"
        self.now = T + 10
        self.options = WatchOptions(policy=baseline(policy), apply=apply, **options)
        self.watch = self.new_watch()

    def new_watch(self):
        return Watch(self.slurm, self.options, self.file, Journal(self.log), clock=lambda: self.now)

    def look(self, seconds=10):
        """Look as the loop of the watch does."""
        self.now += seconds
        try:
            self.watch.look()
        except ProtocolError as error:
            self.watch.lost(error)
        self.watch.journal.write()

    def events(self, name):
        return [event for line in self.log.read_text().splitlines() if (event := json.loads(line))["event"] == name]


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path, waiting(1, 300), waiting(2, 100), waiting(3, 200))


def test_the_priorities_follow_the_policy(room):
    room.look()
    assert room.slurm.order == [2, 3, 1]
    assert all(0 < factor <= 10_000 for factor in room.slurm.factors.values())
    assert FactorFile(room.file.path).factors == room.slurm.factors
    before = len(room.slurm.told)
    room.slurm.shown[4] = waiting(4, 250)
    room.look()
    assert room.slurm.order == [2, 3, 4, 1]
    assert len(room.slurm.told) == before + 1
    room.look()
    assert len(room.slurm.told) == before + 1


def test_a_dry_run_logs_the_same_and_changes_nothing(tmp_path):
    room = Room(tmp_path, waiting(1, 300), waiting(2, 100), waiting(3, 200), apply=False)
    room.look()
    room.look()
    assert room.slurm.told == []
    assert not room.file.path.exists()
    assert [(event["job"], event["place"]) for event in room.events("would set")] == [(2, 1), (3, 2), (1, 3)]
    room.slurm.shown[1] = room.slurm.shown[1]._replace(phase=RUNS, start=T + 25, ran=True)
    room.look()
    (started,) = room.events("started")
    assert (started["place"], started["slurm_place"], started["of"], started["waited"]) == (3, 1, 3, 25)


def test_the_log_tells_the_reasons_of_a_learned_score(tmp_path):
    room = Room(tmp_path, waiting(1, 300), waiting(2, 100), policy="zoo:balanced", apply=False)
    room.look()
    first, second = room.events("would set")
    assert first["key"] < second["key"]
    assert first["because"]["log_time"] < 0 < second["because"]["log_time"]


def test_the_file_is_written_before_slurm_is_told(room):
    seen = []
    room.slurm.before_set = lambda: seen.append(FactorFile(room.file.path).factors)
    room.look()
    assert seen[0] == room.slurm.set_now


def test_only_the_wanted_users_and_partitions_have_factors(tmp_path):
    jobs = waiting(1, 300), waiting(2, 100, user="eve"), waiting(3, 200, partitions=("debug",))
    room = Room(tmp_path, *jobs, users=("ada",), partitions=("normal",))
    room.look()
    assert set(room.slurm.factors) == {1}
    room.options = WatchOptions(policy=baseline("sjf"), partitions=("moon",))
    with pytest.raises(OptionsError, match="--partition moon: Slurm knows debug, normal"):
        room.new_watch().begin()


def test_no_more_is_changed_than_the_rate_allows_and_the_first_jobs_come_first(tmp_path):
    room = Room(tmp_path, *(waiting(n, 100 + n) for n in range(1, 101)), interval=10, rate=3)
    room.look()
    assert [number for number, _ in room.slurm.told] == list(range(1, 31))
    assert room.events("look")[0]["behind"] == 70
    for _ in range(3):
        room.look()
    assert room.slurm.order == list(range(1, 101))
    assert len(room.slurm.told) == 100


def test_a_job_that_is_cancelled_in_between_does_no_harm(room):
    room.slurm.before_set = lambda: room.slurm.shown.pop(3, None)
    room.look()
    assert set(room.slurm.factors) == {1, 2}
    assert room.events("refused")[0]["job"] == 3
    room.slurm.shown[4] = waiting(4, 50)
    room.look()
    assert set(FactorFile(room.file.path).factors) == {1, 2, 4}


def test_a_job_that_is_held_loses_its_factor(room):
    room.look()
    room.slurm.shown[2] = room.slurm.shown[2]._replace(priority=0)
    room.look()
    assert set(room.slurm.set_now) == {1, 3}


def test_a_task_of_an_array_begins_with_the_factor_of_the_array_which_goes_back_too(room):
    room.look()
    task = room.slurm.shown[1]._replace(number=7, array=1, phase=RUNS, start=T + 25, ran=True)
    room.slurm.shown[7] = task
    room.slurm.factors[7] = room.slurm.factors[1]
    room.slurm.shown[8] = waiting(8, 50)
    room.look()
    assert FactorFile(room.file.path).factors == room.slurm.set_now
    room.slurm.shown[7] = waiting(7, 400, array=1)  # requeued
    room.look()
    assert room.slurm.order == [8, 2, 3, 1, 7]
    room.watch.end()
    assert room.slurm.set_now == {}


def test_a_change_that_is_refused_leaves_the_factor_that_the_job_has(room):
    room.look()
    before = room.slurm.set_now
    set_factors = room.slurm.set_factors
    room.slurm.set_factors = lambda factors: {job: f"not available right now for job {job}" for job in factors}
    room.slurm.shown[2] = room.slurm.shown[2]._replace(priority=0)
    room.slurm.shown[4] = waiting(4, 10)
    room.look()
    assert FactorFile(room.file.path).factors[2] == before[2]
    room.slurm.set_factors = set_factors
    room.look()
    assert room.slurm.order[:3] == [4, 3, 1]
    assert 2 not in room.slurm.set_now


def test_a_short_loss_changes_nothing_and_a_long_one_puts_everything_back(room):
    room.look()
    before = room.slurm.set_now
    room.slurm.trouble = ContactLost("squeue: Unable to contact slurm controller")
    room.look(30)
    room.slurm.trouble = None
    room.look(20)
    assert room.slurm.set_now == before
    room.slurm.trouble = ContactLost("squeue: Unable to contact slurm controller")
    for _ in range(5):
        room.look(30)
    room.slurm.trouble = None
    told = len(room.slurm.told)
    room.look(10)
    assert [factor for _, factor in room.slurm.told[told : told + 3]] == [0, 0, 0]  # first of all
    assert room.slurm.set_now == before  # and then from the beginning
    assert len(room.events("restored")) == 1
    assert len(room.events("found again")) == 2


def test_when_slurm_shows_nonsense_for_long_all_factors_go_back_though_nothing_can_be_looked_at(room):
    room.look()
    shown = room.slurm.jobs

    def nonsense():
        raise ProtocolError("squeue: not valid JSON")

    room.slurm.jobs = nonsense
    for _ in range(4):
        room.look(30)
    assert room.slurm.set_now == {}
    assert FactorFile(room.file.path).factors == {}
    room.slurm.jobs = shown
    room.look()
    assert room.slurm.order == [2, 3, 1]


def test_a_slurmctld_that_was_restarted_is_told_all_factors_again(room):
    room.look()
    before = room.slurm.set_now
    room.slurm.factors.clear()
    room.slurm.configuration = room.slurm.configuration | {"boot_time": "2"}
    room.look()
    assert room.slurm.set_now == before


def test_changes_whose_answer_is_lost_are_made_again_and_never_forgotten(room):
    room.slurm.lossy = True
    room.look()
    assert FactorFile(room.file.path).factors == room.slurm.set_now != {}
    room.slurm.lossy = False
    room.slurm.factors.clear()  # or they were not made at all
    room.look()
    assert room.slurm.order == [2, 3, 1]
    assert len(room.slurm.set_now) == 3


def test_a_number_that_stands_for_another_job_has_no_factor_yet(room):
    room.look()
    room.slurm.factors.clear()
    room.slurm.shown = {number: waiting(number, one.limit, submit=12) for number, one in room.slurm.shown.items()}
    room.look()
    assert room.slurm.order == [2, 3, 1]
    assert len(room.slurm.set_now) == 3


def test_ten_thousand_pending_jobs_are_ranked_and_only_the_first_have_factors(tmp_path):
    room = Room(tmp_path, *(waiting(n, 60.0 + n * 7919 % 86_400) for n in range(1, 10_001)), rate=1000)
    room.look()
    limits = [room.slurm.shown[number].limit for number in room.slurm.order[:1000]]
    assert limits == sorted(job.limit for job in room.slurm.shown.values())[:1000]
    assert len(room.slurm.set_now) == 1000
    room.look()
    assert len(room.slurm.told) == 1000


def test_the_end_puts_everything_back(room):
    stop = Event()
    room.slurm.before_set = stop.set
    room.watch.run(stop)
    assert room.slurm.told
    assert room.slurm.set_now == {}
    assert FactorFile(room.file.path).factors == {}
    assert [event["event"] for event in map(json.loads, room.log.read_text().splitlines())][-1] == "end"


def test_an_end_at_which_slurm_is_away_is_told_and_the_file_stays(room, monkeypatch):
    monkeypatch.setattr("hdeeprm_like.slurm.watch.PARTING", 0.1)
    stop = Event()

    def gone():
        stop.set()
        room.slurm.lossy = True

    room.slurm.before_set = gone
    with pytest.raises(ProtocolError, match=r"factors are still set .* slurm restore --state"):
        room.watch.run(stop)
    assert FactorFile(room.file.path).factors
    room.slurm.before_set, room.slurm.lossy = lambda: None, False
    assert put_back(room.slurm, FactorFile(room.file.path)) == 3
    assert room.slurm.set_now == {}


def test_who_has_no_rights_is_told_once_and_nothing_stays_behind(room):
    def refuse():
        raise Denied("Slurm does not permit this user to set priorities")

    room.slurm.before_set = refuse
    with pytest.raises(Denied):
        room.watch.run(Event())
    assert FactorFile(room.file.path).factors == {}


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"prioritytype": "priority/basic"}, "PriorityType is priority/basic"),
        ({"prioritytype": "priority/multifactor", "prioritysitefactorplugin": "site_factor/own"}, "site_factor/own"),
    ],
)
def test_a_slurm_that_heeds_no_factors_is_refused(room, settings, why):
    room.slurm.configuration = settings
    with pytest.raises(OptionsError, match=why):
        room.watch.begin()


def test_what_an_earlier_watch_has_left_goes_back_first(room):
    room.slurm.factors = {1: 50, 3: 70}
    room.file.write({1: 50, 3: 70, 99: 5})
    room.watch.begin()
    assert room.slurm.set_now == {}
    assert FactorFile(room.file.path).factors == {}


def test_restore_sets_all_jobs_back_where_the_file_is_lost(room):
    room.slurm.factors = {1: 50, 3: 70}
    assert put_back(room.slurm, room.file) == 0
    assert put_back(room.slurm, room.file, every=True) == 3
    assert room.slurm.set_now == {}


def test_restore_tries_until_slurm_answers(room, monkeypatch):
    monkeypatch.setattr("hdeeprm_like.slurm.factors.FIRST_PAUSE", 0.01)
    room.slurm.factors = {1: 50}
    room.file.write({1: 50})
    room.slurm.trouble = ContactLost("away")
    failures = []

    def failed(error):
        failures.append(error)
        if len(failures) == 3:
            room.slurm.trouble = None

    assert put_back_in_time(room.slurm, room.file, 5.0, failed=failed) == 1
    assert len(failures) == 3
    room.file.write({1: 50})
    room.slurm.trouble = ContactLost("away")
    with pytest.raises(ContactLost):
        put_back_in_time(room.slurm, room.file, 0.0)
    assert FactorFile(room.file.path).factors == {1: 50}


def test_a_job_whose_factor_cannot_be_put_back_stays_in_the_file(room):
    room.file.write({1: 50, 2: 60})
    room.slurm.set_factors = lambda factors: {1: "Job update not available right now for job 1"}
    with pytest.raises(ProtocolError, match="of 1 jobs are not back at 0: job 1"):
        put_back(room.slurm, room.file)
    assert FactorFile(room.file.path).factors == {1: 50}


def test_the_log_is_summed_up(room):
    room.watch.begin()
    room.look()
    room.slurm.shown[2] = room.slurm.shown[2]._replace(phase=RUNS, start=room.now, ran=True)
    room.look()
    told = "\n".join(summary(room.log))
    assert "2 jobs wait, 1 run" in told
    assert "of the last 1 jobs that Slurm started the policy had 1 in the first place" in told


def test_of_the_jobs_that_slurm_started_those_in_the_first_place_are_counted(tmp_path):
    journal = Journal(tmp_path / "log")
    for place in (1, 2, 0, 6):  # 0 is of a job that no look has seen
        journal.add("started", place=place)
    journal.write()
    assert summary(tmp_path / "log") == [
        "of the last 3 jobs that Slurm started the policy had 1 in the first place; their mean place was 3.0",
        "events: 4 started",
    ]
