"""Platforms, workloads and schedulers for the tests of the server."""

import contextlib
import csv
import itertools
import json
import os
import random
import socket

from hdeeprm_like.batsim_server.options import ServerOptions
from hdeeprm_like.results.batsim_files import interval_set

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">'
MASTER = '<zone id="master" routing="Full"><host id="master_host" speed="1Gf"/></zone>'
CLUSTER = (
    f'{HEAD}<zone id="main" routing="Full">{MASTER}<cluster id="c" prefix="h" suffix="" radical="0-3" speed="1Gf" '
    'bw="10Gbps" lat="0us" router_id="r"/><link id="b" bandwidth="10Gbps" latency="0us"/>'
    '<zoneRoute src="c" dst="master" gw_src="r" gw_dst="master_host"><link_ctn id="b"/></zoneRoute></zone></platform>'
)


def platform_xml(hosts, latency="0us", prop="wattage_per_state", speeds="1Gf,0.5Gf", watts="30:40:100, 30:40:80"):
    """Hosts h0, h1, ... behind links of 10 Gbps."""
    inside = "".join(
        f'<host id="h{i}" speed="{speeds}"><prop id="{prop}" value="{watts}"/></host>'
        f'<link id="l{i}" bandwidth="10Gbps" latency="{latency}" sharing_policy="SPLITDUPLEX"/>'
        f'<route src="h{i}" dst="r" symmetrical="NO"><link_ctn id="l{i}" direction="UP"/></route>'
        f'<route src="r" dst="h{i}" symmetrical="NO"><link_ctn id="l{i}" direction="DOWN"/></route>'
        for i in range(hosts)
    )
    return (
        f'{HEAD}<zone id="main" routing="Full">{MASTER}<zone id="c" routing="Full"><router id="r"/>{inside}</zone>'
        '<link id="b" bandwidth="10Gbps" latency="0us" sharing_policy="SPLITDUPLEX"/>'
        '<zoneRoute src="c" dst="master" gw_src="r" gw_dst="master_host" symmetrical="NO">'
        '<link_ctn id="b" direction="UP"/></zoneRoute></zone></platform>\n'
    )


def storage_xml(stores):
    """Hosts c0 and c1 with links of 10 MB/s to storage hosts s0, s1, ..., and one of 5 MB/s between two of these."""
    hosts = "".join(f'<host id="s{i}" speed="1Gf"><prop id="role" value="storage"/></host>' for i in range(stores))
    wires = "".join(
        f'<link id="w{i}{c}" bandwidth="10MBps" latency="0us"/>'
        f'<route src="c{c}" dst="s{i}"><link_ctn id="w{i}{c}"/></route>'
        for i in range(stores)
        for c in range(2)
    )
    wires += '<link id="ss" bandwidth="5MBps" latency="0us"/><route src="s0" dst="s1"><link_ctn id="ss"/></route>' * (
        stores > 1
    )
    compute = '<host id="master_host" speed="1Gf"/><host id="c0" speed="1Gf"/><host id="c1" speed="1Gf"/>'
    return f'{HEAD}<zone id="z" routing="Full">{compute}{hosts}{wires}</zone></platform>\n'


def workload(jobs, profiles, nb_res=4):
    """Jobs as tuples: submission time, machines, profile, walltime or None."""
    listed = [
        {"id": number, "subtime": submit, "res": size, "profile": profile}
        | ({} if walltime is None else {"walltime": walltime})
        for number, (submit, size, profile, walltime) in enumerate(jobs)
    ]
    return {"nb_res": nb_res, "jobs": listed, "profiles": profiles}


def random_workload(seed, jobs, machines, delays_only=False):
    """Jobs that come every 20 s, of a few dozen profiles."""
    dice = random.Random(seed)
    profiles = {f"d{i}": {"type": "delay", "delay": round(dice.uniform(1, 400), 2)} for i in range(30)}
    if not delays_only:
        for i in range(30):
            profiles[f"p{i}"] = {"type": "parallel_homogeneous", "cpu": dice.uniform(1e9, 4e11), "com": 0}
    time, listed = 0.0, []
    for _ in range(jobs):
        time += dice.expovariate(0.05)
        size = dice.choice([1, 2, 4, dice.randint(1, machines // 2)])
        listed.append((round(time, 2), size, dice.choice(sorted(profiles)), 1000))
    return workload(listed, profiles, machines)


def write_inputs(folder, content, xml=None):
    """Write a platform of 4 hosts (or *xml*) and a workload; return options that use them."""
    (folder / "p.xml").write_text(xml or platform_xml(4))
    (folder / "w.json").write_text(json.dumps(content))
    return ServerOptions(folder / "p.xml", (folder / "w.json",), export=str(folder / "out"))


def rows(folder, name="out_jobs.csv"):
    """Return the lines of a result file, each by its columns."""
    return list(csv.DictReader((folder / name).read_text().splitlines()))


# Processes that test side by side count in steps, so that none is given a port on which another is yet to listen; all
# are below those that the system gives to connections.
PROCESSES = 8
PROCESS = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % PROCESSES
PORTS = itertools.count(10_000 + os.getpid() % 1_000 * PROCESSES + PROCESS, PROCESSES)


def free_port():
    """Return a port that nobody uses, or is given before the test listens on it; another for each call."""
    for port in PORTS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def reply(now, *events):
    """A reply; events are (type, data) at the time of the reply."""
    listed = [{"timestamp": now, "type": kind, "data": data} for kind, data in events]
    return json.dumps({"now": now, "events": listed}).encode()


class Greedy:
    """Starts every job that fits, oldest first, and remembers all that it hears."""

    def __init__(self):
        self.queue, self.free, self.taken, self.heard = [], set(), {}, []

    def starts(self):
        """Yield each job that is started now, and its machines."""
        waiting, self.queue = self.queue, []
        for job, size in waiting:
            if size > len(self.free):
                self.queue.append((job, size))
                continue
            self.taken[job] = set(sorted(self.free)[:size])
            self.free -= self.taken[job]
            yield job, interval_set(self.taken[job])

    def heard_of(self, kind):
        return [(time, data) for time, heard, data in self.heard if heard == kind]


class Filler(Greedy):
    """Such a scheduler of Batsim 4."""

    def ask(self, text):
        message = json.loads(text)
        for event in message["events"]:
            data = event["data"]
            self.heard.append((event["timestamp"], event["type"], data))
            if event["type"] == "SIMULATION_BEGINS":
                self.free = set(range(data["nb_resources"]))
            elif event["type"] == "JOB_SUBMITTED":
                self.queue.append((data["job_id"], data["job"]["res"]))
            elif event["type"] == "JOB_COMPLETED":
                self.free |= self.taken.pop(data["job_id"])
        starts = [("EXECUTE_JOB", {"job_id": job, "alloc": machines}) for job, machines in self.starts()]
        return reply(message["now"], *starts)


class Script:
    """Answers with given replies in turn, then with nothing to do.

    A reply is its text, a list of what is decided now, or what makes one of these of the message.
    """

    def __init__(self, *replies):
        self.replies = list(replies)
        self.texts = []

    def ask(self, text):
        self.texts.append(text)
        message = json.loads(text)
        answer = self.replies.pop(0) if self.replies else []
        answer = answer(message) if callable(answer) else answer
        return reply(message["now"], *answer) if isinstance(answer, list) else answer

    def heard_of(self, kind):
        """What the events of a kind have said."""
        events = [event for text in self.texts for event in json.loads(text)["events"]]
        return [event["data"] for event in events if event["type"] == kind]


def start(alloc="0", number=0, **more):
    """The decision to start a job on some machines."""
    return "EXECUTE_JOB", {"job_id": f"w0!{number}", "alloc": alloc, **more}


def at(now, *decisions, until=None):
    """Decide that once, as soon as the simulation has come to *now*, which takes until another time."""
    left = [reply(until or now, *decisions)]
    return lambda message: left.pop() if left and message["now"] >= now else []
