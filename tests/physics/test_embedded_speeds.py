"""The embedded simulator's jobs on nodes whose speed follows a file begin and end when SimGrid's do, to the last bit.

Our server records what a policy answers, and actors like Batsim's on SimGrid 3.32 hear the same answers.
"""

import json

import pytest
from batsim_talk import play_on_server, talk
from changing_speeds import changing_world, played, write_world
from test_batsim_messages import on_simgrid, pytestmark  # noqa: F401 - marks this file

from hdeeprm_like.results.batsim_files import parse_interval_set


class Recorded:
    """A conversation that keeps its answers in the form of the actors."""

    def __init__(self, conversation):
        self.conversation, self.replies = conversation, []

    def answer(self, text):
        answer = self.conversation.answer(text)
        reply = json.loads(answer)
        listed = [(event["timestamp"], event["type"], numbered(event["data"])) for event in reply["events"]]
        self.replies.append((reply["now"], listed))
        return answer


def numbered(data):
    """An event whose machines are listed one by one."""
    lists = {key: data[key] for key in ("alloc", "resources") if key in data}
    return {**data, **{key: " ".join(map(str, parse_interval_set(text))) for key, text in lists.items()}}


def difference(seed, folder, network):
    """The first job with other times on SimGrid, "" if there is none; None if some never end."""
    cluster, workload, pair = changing_world(seed, network)
    cluster, workload, given = write_world(cluster, workload, folder, network)
    simulator = played(cluster, workload, pair)
    recorded = Recorded(talk(cluster, pair, 3, {"w0": given["profiles"]}))
    _, ended = play_on_server(recorded, folder)
    if not ended:
        return None
    scenario = {
        "platform": str(folder / "platform.xml"),
        "cfg": [],
        "energy": True,
        "seed": 0,
        "chances": {},
        "calls": 0,
    }
    scenario |= {"hosts": cluster.core_names, "jobs": given["jobs"], "profiles": given["profiles"]}
    theirs = on_simgrid({**scenario, "replies": recorded.replies}, folder)["times"]
    tasks = simulator.simulation.tasks
    for j, name in enumerate(workload.ids):
        start, end = theirs[name.partition("!")[2]]
        mine = float(tasks[j]["start"]), float(tasks[j]["finish"])
        if start is not None and mine != (start, end):
            return f"job {name} at {mine}, on SimGrid at {start, end}"
    return ""


@pytest.mark.parametrize("network", [False, True], ids=["", "network"])
@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(1000, 1300), marks=pytest.mark.slow)], ids=str)
def test_jobs_begin_and_end_when_simgrid_says(seeds, network, tmp_path):
    found = {seed: difference(seed, tmp_path, network) for seed in seeds}
    assert {seed: what for seed, what in found.items() if what} == {}
