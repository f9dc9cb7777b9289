"""Our server sends a scheduler what actors like Batsim's send it on SimGrid 3.32, at the same time to the last bit.

Skipped where the system's Python has no simgrid module. A scenario that differs is shown in its smallest form.
"""

import json
from functools import partial
from pathlib import Path

import pytest
from beside_simgrid import asked, needs_simgrid
from scenario_scheduler import Scheduler
from scenarios import scenario_of, shrunk, star, workflow_of
from wider_scenarios import machines_of, talking_of

from hdeeprm_like.batsim_server.options import ServerOptions
from hdeeprm_like.batsim_server.server import Server
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.errors import HDeepRMError

pytestmark = needs_simgrid("3.32")
TELLS = {  # what is compared of each event
    "SIMULATION_BEGINS": (), "SIMULATION_ENDS": (), "REQUESTED_CALL": (), "NOTIFY": ("type",),
    "JOB_SUBMITTED": ("job_id",), "JOB_COMPLETED": ("job_id", "job_state", "return_code"),
    "JOB_KILLED": ("job_ids", "job_progress"), "RESOURCE_STATE_CHANGED": ("resources", "state"),
    "ANSWER": ("consumed_energy",), "FROM_JOB_MSG": ("job_id", "msg"),
}  # fmt: skip


def on_simgrid(scenario, folder):
    """The messages of Batsim's actors, and when each job has started and ended; or why Batsim aborts."""
    path = folder / "scenario.json"
    path.write_text(json.dumps(scenario))
    return asked("batsim_peer.py", path)


def on_our_server(scenario, folder):
    """The same from our server."""
    scheduler, messages = Scheduler(scenario), []
    name = "wf0" if "workflow" in scenario else "w0"

    def ask(text):
        message = json.loads(text.replace(f'"{name}!', '"w0!'))
        events = [(event["timestamp"], event["type"], event["data"]) for event in message["events"]]
        messages.append({"now": simulation.engine.now, "events": events})
        now, replies = scheduler.answer(message["now"], [event[1:] for event in events])
        listed = [{"timestamp": time, "type": kind, "data": data} for time, kind, data in replies]
        return json.dumps({"now": now, "events": listed}).replace('"w0!', f'"{name}!').encode()

    simulation = Simulation(options_of(scenario, folder))
    Server(simulation, ask).run()
    rows = [row for row in simulation.rows if row.starting_time is not None]
    return {
        "messages": messages,
        "times": {row.job_id: (row.starting_time, row.starting_time + row.execution_time) for row in rows},
        "joules": {row.job_id: row.energy for row in rows},
    }


def options_of(scenario, folder):
    """Write the inputs; return options that use them."""
    if "workflow" in scenario:
        path = folder / "w.dax"
        tasks = [f'<job id="{name}" runtime="{task["runtime"]!r}"/>' for name, task in scenario["workflow"].items()]
        for name, task in scenario["workflow"].items():
            tasks.append(f'<child ref="{name}">{"".join(f"<parent ref={x!r}/>" for x in task["after"])}</child>')
        path.write_text(f"<adag>{''.join(tasks)}</adag>")
        return ServerOptions(Path(scenario["platform"]), workflows=(path,))
    path = folder / "w.json"
    path.write_text(json.dumps({"nb_res": 4, "jobs": scenario["jobs"], "profiles": scenario["profiles"]}))
    events = ()
    if "outside" in scenario:
        events = (folder / "events.txt",)
        events[0].write_text("\n".join(map(json.dumps, scenario["outside"])))
    dynamic = "dynamic" in scenario
    return ServerOptions(
        Path(scenario["platform"]),
        (path,),
        energy=scenario.get("energy", False),
        events=events,
        forward_unknown_events=True,
        dynamic_jobs=dynamic,
        acknowledge_dynamic_jobs=dynamic and scenario["dynamic"]["acknowledged"],
        profile_reuse=dynamic,
    )


def difference(scenario, folder):
    """The first thing that differs, None if nothing does."""
    (folder / "p.xml").write_text(scenario["xml"])
    in_cluster = 'prefix="master_host"' in scenario["xml"]
    given = {"cfg": [], "master": "master_host0" if in_cluster else "master_host", **scenario}
    given["platform"] = str(folder / "p.xml")
    theirs = on_simgrid(given, folder)
    if "aborts" in theirs:
        with pytest.raises(HDeepRMError, match=theirs["aborts"]):
            on_our_server(given, folder)
        return None
    ours = on_our_server(given, folder)
    for number, (said, told) in enumerate(zip(theirs["messages"], ours["messages"], strict=False)):
        if said["now"] != told["now"] or not alike(facts(said), facts(told)):
            return number, said, told
    if len(theirs["messages"]) != len(ours["messages"]):
        return "messages", len(theirs["messages"]), len(ours["messages"])
    for name, (start, end) in theirs["times"].items():
        if end is not None:
            end = end if end > start else start + 1e-5  # as Batsim writes it
            if not alike([start, end], list(ours["times"][name])):
                return name, (start, end), ours["times"][name]
    for name, joules in theirs["joules"].items():
        if joules != pytest.approx(ours["joules"][name], rel=1e-6, abs=1e-6):
            return name, joules, ours["joules"][name]
    return None


def facts(message):
    return [[time, kind, {key: data[key] for key in TELLS[kind]}] for time, kind, data in message["events"]]


def alike(theirs, ours):
    """Whether both say the same, numbers to the six decimals that Batsim prints."""
    if isinstance(theirs, dict):
        return theirs.keys() == ours.keys() and all(alike(theirs[key], ours[key]) for key in theirs)
    if isinstance(theirs, list):
        return len(theirs) == len(ours) and all(alike(x, y) for x, y in zip(theirs, ours, strict=True))
    if isinstance(theirs, float) or isinstance(ours, float):
        return abs(theirs - ours) <= 1.001e-6
    return theirs == ours


def assert_the_same(scenario, folder):
    if difference(scenario, folder) is not None:
        smallest = shrunk(scenario, lambda tried: difference(tried, folder) is not None)
        raise AssertionError(f"{difference(smallest, folder)}\nof {json.dumps(smallest)}")


def one(jobs, profiles, **chances):
    """A scenario of some jobs on a star of hosts."""
    none = dict.fromkeys(("reject", "kill", "kill_at_once", "call", "late"), 0)
    return {
        "seed": 1, "machines": 4, "hosts": ["h0", "h1", "h2", "h3"], "xml": star("50us"), "calls": 0,
        "jobs": [{"id": str(number), **job} for number, job in enumerate(jobs)], "profiles": profiles,
        "chances": none | {"waits": [1.0], "delays": [1.0]} | chances,
    }  # fmt: skip


def test_a_job_that_is_killed_in_the_reply_that_starts_it(tmp_path):
    profiles = {
        "p": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 1e6},
        "d": {"type": "delay", "delay": 3},
        "s": {"type": "composed", "seq": ["d", "p"]},
        "e": {"type": "parallel_homogeneous", "cpu": 0, "com": 0},
    }
    jobs = [{"subtime": float(time), "res": 2, "profile": name} for time, name in enumerate("pdsepp")]
    assert_the_same(one(jobs, profiles, kill_at_once=1), tmp_path)


def test_a_part_that_ends_at_the_walltime_after_a_start_above_0(tmp_path):
    profiles = {"p": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}}
    profiles["s"] = {"type": "composed", "seq": ["p", "p"]}
    jobs = [{"subtime": time, "res": 1, "profile": "s", "walltime": 1.0} for time in (0.0, 0.1, 0.3, 3.1, 4.7, 9.3)]
    assert_the_same(one(jobs, profiles), tmp_path)


def test_jobs_of_one_date_that_the_clock_misses_by_rounding(tmp_path):
    times = [round(0.1 * number + 1e5 / 3, 6) for number in range(12)]
    jobs = [{"subtime": time, "res": 1, "profile": "d"} for time in times for _ in range(3)]
    assert_the_same(one(jobs, {"d": {"type": "delay", "delay": 0.07}}), tmp_path)


@pytest.mark.parametrize("seed", [7000479, 7000515])
def test_a_job_that_ends_when_the_server_begins_to_report_comes_before_or_after_the_answer(seed, tmp_path):
    # its end takes as many rounds as hosts' energy is read, the server's report three: a message of 110 us more or less
    assert_the_same(scenario_of(seed, energy=True), tmp_path)


@pytest.mark.parametrize("seed", [26130009, 26130032])
def test_two_changes_of_machines_that_end_within_the_time_of_a_message(seed, tmp_path):
    # the energy is read at the end of each, which takes rounds: the second is reported in the message of the first
    assert_the_same(machines_of(seed), tmp_path)


def test_a_job_that_is_killed_while_its_message_is_on_its_way(tmp_path):
    assert_the_same(talking_of(26140031), tmp_path)  # SimGrid's receiver fails then, and Batsim with it


with_energy = partial(scenario_of, energy=True)


def of_any_kind(seed):
    """Every third with energy."""
    return scenario_of(seed, energy=seed % 3 == 0)


@pytest.mark.parametrize(
    ("make", "seeds"),  # machines that change their speed, sleep, leave and come back; jobs that talk; workflows
    [
        *((scenario_of, [seed]) for seed in range(4)),
        *((with_energy, [seed]) for seed in range(10, 13)),
        *((make, [seed]) for make in (machines_of, talking_of) for seed in range(3)),
        *((workflow_of, [seed]) for seed in range(2)),
        # half a minute each pair
        *(pytest.param(make, range(100, 130), marks=pytest.mark.more) for make in (machines_of, talking_of)),
        pytest.param(of_any_kind, range(100, 150), marks=pytest.mark.more),
        pytest.param(workflow_of, range(100, 110), marks=pytest.mark.more),
        # a quarter of an hour each pair
        *(pytest.param(make, range(1000, 2000), marks=pytest.mark.slow) for make in (machines_of, talking_of)),
        pytest.param(of_any_kind, range(1000, 2300), marks=pytest.mark.slow),
        pytest.param(workflow_of, range(1000, 1200), marks=pytest.mark.slow),
    ],
)
def test_the_messages_are_those_of_the_actors_on_simgrid(make, seeds, tmp_path):
    for seed in seeds:
        assert_the_same(make(seed), tmp_path)
