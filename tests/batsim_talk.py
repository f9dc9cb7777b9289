"""Conversations with Batsim for the tests of the endpoint: made by our server, in process and without a socket."""

import csv
import json
from pathlib import Path

import numpy as np
from small import Finished, platform

from hdeeprm_like.batsim.codec4 import Codec4
from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.batsim_server import cli
from hdeeprm_like.batsim_server.batsim5 import cli as cli5
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.system import DecisionSystem, FirstAction
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tasks import SHORTEST_RUN
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.batsim5_json import write_batsim5
from hdeeprm_like.formats.batsim_numbers import read_number
from hdeeprm_like.formats.platform_xml import write_platform_xml
from hdeeprm_like.formats.workload_json_writer import write_workload
from hdeeprm_like.results.batsim_files import parse_interval_set

LIMITS = JobLimits(1.0, 1.0, 1.0, 1.0)
FOUR = platform((1000.0, [(2, 1.0, 100.0, 10.0), (2, 2.0, 100.0, 5.0)]))


class Agent(FirstAction):
    """Applies its only pair, and keeps count."""

    asked = 0

    def act(self, observation, mask):
        self.asked += 1
        return 0


TEXT = 1e-6  # s, resolution of times in the files of the server


def talk(platform=None, policy=("first", "high_gflops"), seed=0, exact=None, limits=LIMITS, agent=None, codec=None):
    """The decision system's side of a simulation that has not begun."""

    def decide(platform, limits):
        actions = PolicyActions([policy])
        return DecisionSystem(State(platform, None, seed=seed, limits=limits, needs=actions.needs), actions)

    return Conversation(decide, agent or Agent(), codec or Codec4(), platform, limits, exact)


def message(now, *events):
    """Events as (type, data), all at the time of the message."""
    listed = [{"timestamp": now, "type": kind, "data": data} for kind, data in events]
    return json.dumps({"now": now, "events": listed})


def events_of(answer):
    """The events of an answer, as (type, data)."""
    return [(event["type"], event["data"]) for event in json.loads(answer)["events"]]


def server_options(folder, *more):
    """The server's options for platform.xml and workload.json of a folder."""
    files = ["-p", folder / "platform.xml", "-w", folder / "workload.json", "-e", folder / "out"]
    return cli.read_command_line([*map(str, files), "-E", *more])[0]


def play_on_server(conversation, folder, *more):
    """Play the inputs of a folder with our server; return the messages and whether the simulation ended."""
    said = []

    def ask(text):
        said.append(text)
        return conversation.answer(text).encode()

    return said, cli.play(server_options(folder, *more), ask)


def play_on_server5(conversation, folder, *more):
    """The same with our server for Batsim 5; its files are called ``five_*``."""
    said = []

    def ask(message):
        said.append(message)
        return conversation.answer(message).encode()

    write_batsim5(folder / "workload.json", folder / "workload5.json", WorkloadError)
    files = ["-p", f"{folder}/platform.xml", "-w", f"{folder}/workload5.json", "-e", f"{folder}/five_"]
    options = cli5.read_command_line([*files, "--energy-host", "-s", "tcp://127.0.0.1:1", "", *more])[0]
    return said, cli5.play(options, ask)


def write_inputs(platform, workload, folder):
    """Write what the server reads; return the profiles as the file has them."""
    write_platform_xml(platform, folder / "platform.xml")
    write_workload(workload, folder / "workload.json")
    return {"w0": json.loads((folder / "workload.json").read_text(), parse_float=read_number)["profiles"]}


def jobs_of(path):
    """The rows of an ``out_jobs.csv`` by job."""
    rows = csv.DictReader(Path(path).read_text().splitlines())
    return {row["workload_name"] + "!" + row["job_id"]: row for row in rows}


def difference_from_server(simulator, workload, folder):
    """The first job with other cores or times than in the server's files, "" if there is none."""
    rows = jobs_of(folder / "out_jobs.csv")
    if sorted(rows) != sorted(workload.ids):
        return f"{len(rows)} of {len(workload)} jobs"
    finished, tasks = Finished(simulator, workload), simulator.simulation.tasks
    for j, identifier in enumerate(workload.ids):
        row = rows[identifier]
        cores = parse_interval_set(row["allocated_resources"]) or None
        if cores != finished.cores[j]:
            return f"job {identifier} on {finished.cores[j]}, with the server on {cores}"
        if cores is not None:
            theirs = [float(row["starting_time"]), float(row["finish_time"])]
            start, run = tasks[j]["start"], tasks[j]["finish"] - tasks[j]["start"]
            mine = [start, start + (run or SHORTEST_RUN)]
            if not np.allclose(theirs, mine, rtol=1e-15, atol=1.1 * TEXT):
                return f"job {identifier} at {mine}, with the server at {theirs}"
    return ""


def assert_same_schedule(finished, path):
    """Compare a run in process with an ``out_jobs.csv``: what ran when on which cores."""
    rows, workload = jobs_of(path), finished.workload
    assert sorted(rows) == sorted(workload.ids)
    for j, identifier in enumerate(workload.ids):
        row = rows[identifier]
        cores = parse_interval_set(row["allocated_resources"]) or None
        assert cores == finished.cores[j], identifier
        if cores is not None:
            times = [float(row["starting_time"]), float(row["finish_time"])]
            mine = finished.simulator.simulation.tasks[j]
            assert np.allclose(times, [mine["start"], max(mine["finish"], mine["start"] + 1e-5)], rtol=0, atol=2.1e-6)
