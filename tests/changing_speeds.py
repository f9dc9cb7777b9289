"""Random worlds with nodes whose speed follows a file, and the embedded simulator that plays them."""

import json
from dataclasses import replace

import numpy as np
from batsim_talk import difference_from_server, play_on_server, talk
from random_worlds import world
from small import platform

from hdeeprm_like.cluster.links import with_network
from hdeeprm_like.cluster.platform import Network
from hdeeprm_like.cluster.speed_profiles import NO_PROFILE, NodeSpeeds, SpeedProfile
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.engine.state import State
from hdeeprm_like.formats.batsim_numbers import read_number
from hdeeprm_like.formats.platform_hosts import read_platform_xml
from hdeeprm_like.formats.platform_xml import write_platform_xml
from hdeeprm_like.formats.workload_json import read_workload
from hdeeprm_like.formats.workload_json_writer import write_workload
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import run_policy

SHARES = [0.0, 0.25, 0.5, 1 / 3, 1.0, 1.0, 1.5]


SLOW = Network(("2kBps",), ("1ms",), "2kBps", "1ms")  # the message of a job's end takes milliseconds


def profile(dice, unit, jitter):
    """Changes of a speed at whole multiples of a unit in s, or just after them, or at any time; once or again."""
    count = int(dice.integers(1, 6))
    whole = dice.random() < 0.7
    dates = np.sort(dice.integers(0, 30, count) if whole else dice.uniform(0, 30, count)) * unit
    dates = np.sort(dates + dice.choice([0.0, 0.0, *jitter], count))
    shares = [*dice.choice(SHARES, count - 1).tolist(), float(dice.choice([0.4, 1.0]))]  # never without speed for ever
    again = 0.0 if dice.random() < 0.5 else float(dice.integers(1, 10) if whole else dice.uniform(0.1, 10)) * unit
    return SpeedProfile(tuple(dates.tolist()), tuple(shares), again)


def profile_at_ends(dice, ends, jitter):
    """Changes of a speed when jobs end, or their messages are on the way; most leave the speed as it is."""
    dates = np.sort(dice.choice(ends, min(len(ends), 8)) + dice.choice([0.0, *jitter], min(len(ends), 8)))
    shares = np.where(dice.random(len(dates)) < 0.8, 1.0, 0.5)
    return SpeedProfile(tuple(dates.tolist()), tuple(shares.tolist()))


def changing_world(seed, network=False):
    """A platform with nodes whose speed changes, jobs of which some send data, and a policy pair."""
    cluster, workload, pair = world(seed)
    dice = np.random.default_rng(seed + 2 * 10**6)
    if dice.random() < 0.3:
        nodes = [(1000.0, [(int(dice.integers(1, 3)), 1.0, 100.0, 10.0)]) for _ in range(dice.integers(1, 3))]
        cluster = platform(*nodes)
    jitter = [1e-10, 5e-10, 1e-9, 3e-9]  # s
    if dice.random() < 0.3:
        cluster, jitter = replace(cluster, network=SLOW), [5e-4, 1e-3, 2.1e-3, 2.4e-3, 5e-3]
    unit = float(np.diff(np.unique([0.0, *workload.requested_time])).min())
    count = int(dice.integers(1, 4))
    profiles = [profile(dice, unit, jitter) for _ in range(count)]
    if dice.random() < 0.3:
        ends = played(cluster, workload, pair).simulation.tasks["finish"]
        ends = ends[ends == ends]
        profiles = [profile_at_ends(dice, ends, jitter) for _ in range(count)] if len(ends) else profiles
    profiles = tuple(dict.fromkeys(profiles))
    of_node = tuple(dice.integers(NO_PROFILE, len(profiles), cluster.nodes).tolist())
    cluster = replace(cluster, speeds=NodeSpeeds(profiles, of_node))
    if network:
        size = dice.choice([0.0, 0.0, 1e6, 2e8, 1e5 / 3, float(dice.integers(1, 10**9))], len(workload))
        size *= 1e-6 if cluster.network is SLOW else 1.0  # else speeds would change millions of times meanwhile
        workload = replace(workload, bytes=size * (workload.delay < 0))
    return cluster, workload, pair


def write_world(cluster, workload, folder, network=False):
    """Write a world for the server; return it as read back, and the content of the workload's file."""
    write_platform_xml(cluster, folder / "platform.xml", routed=network)
    write_workload(workload, folder / "workload.json")
    cluster = read_platform_xml(folder / "platform.xml")
    workload = read_workload(folder / "workload.json", reference_flops=cluster.reference_flops, network=network)
    content = json.loads((folder / "workload.json").read_text(), parse_float=read_number)
    return with_network(cluster) if network else cluster, workload, content


def difference(cluster, workload, pair, folder, network=False):
    """The first job of a world with other cores or times than on the server, "" if there is none."""
    cluster, workload, content = write_world(cluster, workload, folder, network)
    simulator = played(cluster, workload, pair)
    _, ended = play_on_server(talk(cluster, pair, 3, {"w0": content["profiles"]}), folder)
    return difference_from_server(simulator, workload, folder) if ended else "the server has not ended"


def played(cluster, workload, pair):
    """The embedded simulator at the end of a world."""
    actions = PolicyActions([policy_named(pair) if isinstance(pair, str) else pair])
    simulator = Simulator(State(cluster, workload, seed=3, needs=actions.needs), workload)
    list(run_policy(simulator, actions))
    return simulator
