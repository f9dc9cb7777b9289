"""Machine code plays sessions in which jobs delay, compute and send as the server's actors do: all that is said and
written is the same, and the clock is the same to its last bit."""

import csv
import json
import random
import re
from functools import partial

import pytest
from server_inputs import HEAD, Filler, platform_xml, random_workload, reply, workload, write_inputs
from test_layers_of_the_server import modules_loaded_by

from hdeeprm_like.batsim_server import cli, silent
from hdeeprm_like.batsim_server.outputs import write_outputs
from hdeeprm_like.batsim_server.server import Server
from hdeeprm_like.batsim_server.silent_decisions import TALK
from hdeeprm_like.batsim_server.silent_session import SilentSession
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.engine import library, light_library
from hdeeprm_like.engine import silent_layout as layout
from hdeeprm_like.engine.plain import ENABLED
from hdeeprm_like.engine.silent_clock import advance
from hdeeprm_like.engine.silent_layout import Content, Memory
from hdeeprm_like.engine.silent_session import session_in
from hdeeprm_like.errors import HDeepRMError, ProtocolError

PROFILES = {
    "delay": {"type": "delay", "delay": 5.5},
    "second": {"type": "delay", "delay": 1},
    "no time": {"type": "delay", "delay": 1e-10},
    "fails": {"type": "delay", "delay": 2, "ret": 3},
    "work": {"type": "parallel_homogeneous", "cpu": 5.5e9, "com": 0},
    "work of a second": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0},
    "no work": {"type": "parallel_homogeneous", "cpu": 0, "com": 0},
    "total": {"type": "parallel_homogeneous_total", "cpu": 4e9, "com": 0},
    "pair": {"type": "parallel", "cpu": [1e9, 2e9], "com": [0, 0, 0, 0]},
}
SENDING = {
    "shuffle": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 1e8},
    "bytes alone": {"type": "parallel_homogeneous", "cpu": 0, "com": 3e8},
    "one byte": {"type": "parallel_homogeneous", "cpu": 0, "com": 1},
    "total of both": {"type": "parallel_homogeneous_total", "cpu": 4e9, "com": 7.7e8},
    "ring": {"type": "parallel", "cpu": [1e9, 0], "com": [0, 2e8, 3.3e7, 0]},
}
OF_TWO = ("pair", "ring")
NEXT = (0, 0, 0, 1, 1e-10, 5.5)  # s until the next submission
WALLTIMES = (None, None, 1, 5.5, 5.5, 1e-9, 100)


def with_arrays(memory):
    """What plays a session through its bundle, as all other machine code is called."""
    return partial(advance, session_in(memory))


ROOM = {"written": "out", "closed": "closed", "killings": "killings", "commands": "commands"}
ROOM |= {name: name for name in ("rows", "events", "kills", "changed", "allocs", "messages", "ready")}


def within(make):
    """What plays a session, and looks after each turn that it has not left its arrays."""

    def make_advance(memory):
        made, talk = make(memory), memory.integers("talk")
        words = {name: layout.WORD * layout.WORDS.get(name, 1) for name in memory.arrays.keys() - {"out", "allocs"}}
        room = {TALK[word]: len(memory.arrays[name]) // words.get(name, 1) for word, name in ROOM.items()}

        def checked():
            result = made()
            assert all(talk[word] <= most for word, most in room.items())
            return result

        return checked

    return make_advance


@pytest.fixture(scope="module")
def make_advance():
    """What the server takes where a library has it."""
    if ENABLED:
        return within(with_arrays)
    with_arrays(Memory(Content(1, 1)))()  # compiles it where no library has it
    made = silent.machine_code()
    assert made is not None
    return within(made)


WATTS = ("95:98:170, 80:85:120", "10:30.5:30.5,0:0:0")


def bare_xml(dice, hosts):
    """Hosts without links, of some speeds and numbers of cores, that begin in one of two P-states; some are fast."""
    slowest, fastest = dice.choice([(0.5, 1), (1e3, 1e5)])
    speeds = [dice.choice([fastest, fastest, dice.uniform(slowest, fastest)]) for _ in range(hosts)]
    listed = "".join(
        f'<host id="h{number}" speed="{speed}Gf,0.7Gf" core="{dice.choice([1, 4])}" '
        f'pstate="{dice.choice([0, 0, 1])}"><prop id="wattage_per_state" value="{dice.choice(WATTS)}"/></host>'
        for number, speed in enumerate(speeds)
    )
    return f'{HEAD}<zone id="z" routing="Full"><host id="master_host" speed="1Gf"/>{listed}</zone></platform>'


def linked_xml(dice, hosts):
    """Hosts with links that jobs share with one another, and with the messages of jobs' ends."""
    policy = dice.choice(["SHARED", "FATPIPE", "SPLITDUPLEX"])
    if policy == "SPLITDUPLEX":
        speeds = f"{dice.choice([0.3, 1])}Gf,0.7Gf"
        return platform_xml(hosts, dice.choice(["0us", "10us", "300ms"]), speeds=speeds, watts=dice.choice(WATTS))
    wide, far = dice.choice(["1GBps", "37MBps"]), dice.choice(["0us", "10us", "1ms"])
    link = f'<link id="l" bandwidth="{wide}" latency="{far}" sharing_policy="{policy}"/>'
    names = ["master_host", *(f"h{number}" for number in range(hosts))]
    ways = "".join(
        f'<route src="{one}" dst="{other}"><link_ctn id="l"/></route>'
        for place, one in enumerate(names)
        for other in names[place + 1 :]
    )
    return bare_xml(dice, hosts).replace("</zone>", f"{link}{ways}</zone>")


def world(seed, sends, latest=3e5):
    """A random platform, workload and number of machines; many dates, run times and walltimes are equal.

    Some begin at the *latest* s: late times, and fast machines, leave rests of rounding.
    """
    dice = random.Random(seed)
    hosts = dice.choice([2, 4, 8] if sends else [1, 2, 4, 8])
    profiles = PROFILES | SENDING if sends else PROFILES
    latency = dice.choice(["", "0us", "10us", "300ms"])
    speeds = dice.choice(["1Gf,0.5Gf", "0.3Gf,0.7Gf"])
    xml = platform_xml(hosts, latency, speeds=speeds) if latency else bare_xml(dice, hosts)
    if sends:
        xml = linked_xml(dice, hosts)
    jobs, time = [], dice.choice([0.0, 0.0, latest])
    for _ in range(dice.choice([1, 3, 10, 30])):
        time += dice.choice([*NEXT, dice.random() * 10])
        profile = dice.choice(sorted(profiles))
        size = 2 if profile in OF_TWO else dice.choice([1, 1, 2, hosts, hosts + 1])
        jobs.append((time, size, profile, dice.choice(WALLTIMES)))
    return xml, workload(jobs, profiles, hosts), hosts


def with_speed_files(xml, seed, folder):
    """The platform with speeds of some hosts that follow one of two files, whose changes often are at dates of jobs."""
    dice = random.Random(seed)
    for number in range(2):
        dates = sorted(dice.choice([0, 0.5, 1, 5.5, 11, dice.random() * 30]) for _ in range(dice.choice([1, 2, 4])))
        lines = [f"{date} {dice.choice([0.25, 0.3, 0.5, 1.0])}" for date in dates]
        lines += dice.choice([[], [f"LOOPAFTER {dice.choice([1, 4.5, 7])}"]])
        (folder / f"speed{number}.txt").write_text("\n".join(lines))
    follows = lambda found: found[0] + dice.choice(["", f' speed_file="speed{dice.choice([0, 1])}.txt"'])  # noqa: E731
    return re.sub(r'<host id="h\d+"', follows, xml)


class Dicer:
    """A scheduler that throws dice: it starts, rejects, holds and kills jobs, at once or later, and errs.

    It requests calls, notes metadata, and where energy is measured asks for it and changes P-states.
    """

    def __init__(self, seed, hosts, errs, energy=False):
        self.dice, self.errs, self.hosts, self.energy = random.Random(seed), errs, hosts, energy
        self.late, self.more = self.dice.random(), self.dice.choice([0, 0.1, 0.4])
        self.free, self.held, self.queue, self.calls, self.heard = set(range(hosts)), {}, [], 0, []

    def ask(self, text):
        self.heard.append(text)
        dice, message = self.dice, json.loads(text)
        self.now = now = time = message["now"]
        for event in message["events"]:
            if event["type"] == "JOB_SUBMITTED":
                self.queue.append((event["data"]["job_id"], event["data"]["job"]["res"]))
            elif event["type"] == "JOB_COMPLETED":
                self.free |= self.held.pop(event["data"]["job_id"], set())
        late = dice.random() < self.late
        waiting, self.queue, events = self.queue, [], []
        for name, size in waiting:
            if late and dice.random() < 0.5:
                time += dice.choice([0, 1e-6, 0.5, 1.0, 5.5])
            if size > self.hosts or dice.random() < 0.05:
                events.append((time, "REJECT_JOB", {"job_id": name}))
            elif size > len(self.free) or dice.random() < 0.1:
                self.queue.append((name, size))
            else:
                self.held[name] = set(dice.sample(sorted(self.free), size))
                self.free -= self.held[name]
                text = dice.choice(["{0}", "{0}-{0}"])
                alloc = " ".join(text.format(machine) for machine in self.held[name])
                events.append((time, "EXECUTE_JOB", {"job_id": name, "alloc": alloc}))
        if (self.queue or dice.random() < 0.3) and self.calls < 60:
            for _ in range(dice.choice([1, 1, 2])):
                self.calls += 1
                events.append((time, "CALL_ME_LATER", {"timestamp": time + dice.choice([1e-3, 0.5, 1, 5.5, 10])}))
        if dice.random() < self.more:
            events.append((time, *self.other()))
        if dice.random() < self.errs:
            events.append((time, *self.odd()))
        if dice.random() < self.errs / 5:
            raise ProtocolError("the scheduler is gone")
        end = max(time, now + dice.choice([0, 0, 0, 1e-6, 0.7])) if late else time
        listed = [{"timestamp": date, "type": kind, "data": data} for date, kind, data in events]
        return b"{" if dice.random() < self.errs / 5 else json.dumps({"now": end, "events": listed}).encode()

    def other(self):
        """A decision of another kind, on jobs that run or wait."""
        dice, known = self.dice, [*self.held, *(name for name, _ in self.queue)]
        kinds = [("QUERY", {"requests": {"consumed_energy": {}}})] * self.energy
        if known:
            kinds.append(("SET_JOB_METADATA", {"job_id": dice.choice(known), "metadata": f"noted {dice.random()}"}))
        if self.held:
            names = dice.sample(sorted(self.held), min(len(self.held), dice.choice([1, 1, 2, 3])))
            kinds.append(("KILL_JOB", {"job_ids": names + names[: dice.choice([0, 0, 1])]}))
        if self.energy:
            chosen = dice.sample(range(self.hosts), dice.randint(1, self.hosts))
            data = {"resources": " ".join(map(str, chosen)), "state": dice.choice("01")}
            kinds += [("SET_RESOURCE_STATE", data)] * 3
        return dice.choice(kinds or [("CALL_ME_LATER", {"timestamp": self.now + 1e4})])

    def odd(self):
        """A decision that machine code does not know, or that Batsim does not survive."""
        return self.dice.choice(
            [
                ("KILL_JOB", {"job_ids": ["w0!0"]}),
                ("KILL_JOB", {"job_ids": "w0!0"}),
                ("SET_JOB_METADATA", {"job_id": "w0!0", "metadata": "noted"}),
                ("SET_JOB_METADATA", {"job_id": "w0!1", "metadata": 'with "'}),
                ("SET_RESOURCE_STATE", {"resources": "0", "state": "7"}),
                ("QUERY", {"requests": {}}),
                ("QUERY", {"requests": {"consumed_energy": {}}}),
                ("EXECUTE_JOB", {"job_id": "w0!0", "alloc": "0"}),
                *[("EXECUTE_JOB", {"job_id": name, "alloc": f"0-{size - 1}"}) for name, size in self.queue] * 3,
                ("EXECUTE_JOB", {"job_id": "w0!1", "alloc": "0", "mapping": {"0": "0"}}),
                ("REJECT_JOB", {"job_id": "w0!1"}),
                ("CALL_ME_LATER", {"timestamp": 0}),
            ]
        )


def played(seed, folder, errs, run, sends=False, follows=False):
    """All that a simulation says and writes, how it ends, and its clock."""
    # a speed that follows a file may change each second until then
    xml, jobs, hosts = world(seed, sends, 3e4 if follows else 3e5)
    xml = with_speed_files(xml, seed, folder) if follows else xml
    options = write_inputs(folder, jobs, xml).replaced(energy=bool(seed % 2))
    if seed % 3 == 0 and not sends:  # as on Batsim's own platforms, the server's host reaches itself after a latency
        options = options.replaced(simgrid=("network/loopback-lat:1e-6",))
    for path in folder.glob("out*"):
        path.unlink()
    scheduler, simulation = Dicer(seed, hosts, errs, options.energy), Simulation(options)
    assert silent.is_silent(simulation)
    try:
        ended = str(cli.run_to_the_end(simulation, lambda: run(simulation, scheduler.ask), write_outputs, 0.0))
    except HDeepRMError as error:
        ended = str(error)
    written = {path.name: list(csv.DictReader(path.read_text().splitlines())) for path in folder.glob("out*")}
    for name in ("scheduling_time", "simulation_time"):
        written["out_schedule.csv"][0].pop(name)
    machines = simulation.machines
    exact = (simulation.rows, machines.state_rows, machines.energy_rows, machines.pstate_rows, machines.seconds)
    return scheduler.heard, ended, written, exact, simulation.completed, simulation.engine.now


def assert_the_same(seed, folder, errs, make_advance, *kind):
    by_actors = played(seed, folder, errs, lambda simulation, ask: Server(simulation, ask).run(), *kind)
    assert played(seed, folder, errs, partial(silent.run_silent, make_advance=make_advance), *kind) == by_actors, seed


@pytest.mark.parametrize("first", range(0, 150, 30))
def test_machine_code_says_and_writes_what_the_actors_do(first, tmp_path, make_advance):
    for seed in range(first, first + 30):
        assert_the_same(seed, tmp_path, 0.0, make_advance)


@pytest.mark.parametrize("first", range(5000, 5150, 30))
def test_machine_code_plays_jobs_that_send_as_the_actors_do(first, tmp_path, make_advance):
    for seed in range(first, first + 30):
        assert_the_same(seed, tmp_path, 0.02 * (seed % 5 == 0), make_advance, True)


@pytest.mark.parametrize("first", range(6000, 6120, 30))
def test_machine_code_plays_machines_whose_speed_follows_a_file_as_the_actors_do(first, tmp_path, make_advance):
    for seed in range(first, first + 30):
        assert_the_same(seed, tmp_path, 0.02 * (seed % 5 == 0), make_advance, seed % 3 == 0, True)


@pytest.mark.parametrize("first", range(1000, 1090, 30))
def test_what_it_does_not_know_is_played_by_the_actors_from_the_beginning(first, tmp_path, make_advance):
    for seed in range(first, first + 30):
        assert_the_same(seed, tmp_path, 0.05, make_advance)


@pytest.mark.slow  # a minute
def test_machine_code_and_actors_agree_in_2000_sessions(tmp_path, make_advance):
    for seed in range(2000, 4000):
        assert_the_same(seed, tmp_path, 0.02 * (seed % 2), make_advance, seed % 3 == 0, seed % 4 == 0)


@pytest.fixture
def all_in_machine_code(monkeypatch, make_advance):
    """Have machine code play every session that it can; return those that it played to their end."""
    whole, run = [], SilentSession.run
    monkeypatch.setattr(cli, "FEWEST_JOBS", 0)
    monkeypatch.setattr(silent, "machine_code", lambda: make_advance)
    monkeypatch.setattr(SilentSession, "run", lambda session: whole.append(ended := run(session)) or ended)
    return whole


OF_JOBS_THAT_SEND = workload([(time, 2, "shuffle", None) for time in range(3)], SENDING)


@pytest.mark.parametrize("jobs", [random_workload(1, cli.FEWEST_JOBS, 4), OF_JOBS_THAT_SEND])
def test_a_session_that_is_long_or_sends_is_played_in_machine_code_without_numpy(jobs, tmp_path, make_advance):
    options = write_inputs(tmp_path, jobs)
    code = (
        "import sys; sys.path[:0] = ['tests']\nfrom pathlib import Path\nfrom server_inputs import Filler\n"
        "from hdeeprm_like.batsim_server import cli\nfrom hdeeprm_like.batsim_server.options import ServerOptions\n"
        f"assert cli.play(ServerOptions(Path({str(options.platform)!r}), (Path({str(options.workloads[0])!r}),), "
        f"export={options.export!r}), Filler().ask)"
    )
    loaded = modules_loaded_by(code)
    assert "hdeeprm_like.batsim_server.silent_session" in loaded
    assert "numpy" not in loaded


def test_where_no_library_has_it_the_actors_play(tmp_path, monkeypatch):
    monkeypatch.setattr(cli, "FEWEST_JOBS", 0)
    monkeypatch.setattr(silent, "function_of", lambda *_: None)
    scheduler = Filler()
    assert cli.play(write_inputs(tmp_path, workload([(0, 1, "second", None)], PROFILES)), scheduler.ask)
    assert [time for time, _ in scheduler.heard_of("JOB_COMPLETED")] == [1.0]


def test_decisions_beyond_the_memory_are_played_by_the_actors(all_in_machine_code, tmp_path):
    replies = [reply(0), reply(0, *[("CALL_ME_LATER", {"timestamp": 1 + k}) for k in range(1500)])]
    options = write_inputs(tmp_path, workload([(0, 1, "second", None)], PROFILES))
    calls = []

    def ask(text):
        now, events = json.loads(text)["now"], json.loads(text)["events"]
        came = [event for event in events if event["type"] == "REQUESTED_CALL"]
        calls.extend(came)
        last = [("REJECT_JOB", {"job_id": "w0!0"})] if came and len(calls) == 1500 else []
        return replies.pop(0) if replies else reply(now, *last)

    assert cli.play(options, ask)
    assert len(calls) == 1500
    assert all_in_machine_code == [None]


def test_a_reply_that_is_longer_than_the_memory_is_read_once_between_short_ones(all_in_machine_code, tmp_path):
    scheduler = Filler()

    def ask(text):
        return scheduler.ask(text) + b" " * (1 << 17) * (len(scheduler.heard) % 3 == 0)

    jobs = workload([(time, 1, "second", None) for time in range(9)], PROFILES)
    assert cli.play(write_inputs(tmp_path, jobs), ask)
    assert all_in_machine_code == [True]
    assert len(scheduler.heard_of("JOB_COMPLETED")) == 9


def test_calls_and_jobs_that_come_while_the_scheduler_computes_have_room(all_in_machine_code, tmp_path):
    jobs = workload([(0, 1, "second", None)] + [(12, 1, "second", None)] * 600, PROFILES)
    calls = [("CALL_ME_LATER", {"timestamp": 10 + k / 1000}) for k in range(1590)]
    replies = [reply(0), reply(1, *calls), reply(15)]
    heard = []

    def ask(text):
        heard.append([event["type"] for event in json.loads(text)["events"]])
        return replies.pop(0) if replies else reply(15)

    assert not cli.play(write_inputs(tmp_path, jobs), ask)  # no job is ever started
    assert sorted(heard[3]) == ["JOB_SUBMITTED"] * 600 + ["NOTIFY"] + ["REQUESTED_CALL"] * 1589
    assert all_in_machine_code == [False]


ASLEEP = (
    f'{HEAD}<zone id="z" routing="Full"><host id="master_host" speed="1Gf"/><host id="h" speed="1Gf,1f,1f" pstate="1">'
    '<prop id="wattage_per_state" value="30:40:100,5:5:5,50:50:50"/><prop id="sleep_pstates" value="1:2:2"/></host>'
    "</zone></platform>"
)


@pytest.mark.parametrize(("xml", "options"), [(ASLEEP, {"energy": True}), (platform_xml(4), {"compute_sharing": True})])
def test_where_machines_sleep_or_jobs_share_machines_the_actors_play(xml, options, tmp_path):
    made = write_inputs(tmp_path, workload([(0, 1, "second", None)], PROFILES), xml).replaced(**options)
    assert not silent.is_silent(Simulation(made))


def test_where_a_rank_sends_itself_bytes_the_actors_play(tmp_path):
    sends = {"sends": {"type": "parallel", "cpu": [1, 1], "com": [0, 1, 1, 1]}}
    assert not silent.is_silent(Simulation(write_inputs(tmp_path, workload([(0, 2, "sends", None)], sends))))


def test_the_memory_is_laid_out_as_the_bundle():
    memory = Memory(Content(3, 2, sends=True))
    memory.address()
    session = session_in(memory)
    records = [list(record) for record in memory._records]
    assert records[0][3:] == session._words.tolist()[3:]
    assert records[1] == session.actions._words.tolist()
    assert records[2][1:] == session.traffic._words.tolist()[1:]
    assert records[3] == session.speeds._words.tolist()
    assert records[4] == session.traffic.problem._words.tolist()


def test_the_kind_of_processor_is_known_without_numpy():
    assert light_library.target() == library.target()
