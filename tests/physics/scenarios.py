"""Random platforms, jobs, workflows and chances of a scheduler, for Batsim's actors on SimGrid and for our server."""

import random
import re

from hdeeprm_like.formats.batsim_numbers import read_number

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">'
MASTER = '<zone id="master" routing="Full"><host id="master_host" speed="1Gf"/></zone>'
HOSTS = ["h0", "h1", "h2", "h3"]
WAITS = [1.0, 0.5, 0.1, 2.5]
SHORT_WAITS = [1e-5, 1e-4]  # where messages take no longer
DELAYS = [1e-6, 1e-5, 1e-4, 0.5, 1.0]


def star(latency):
    """Hosts behind links of their own, and the master beyond a link of 10 Gbps."""
    hosts = "".join(f'<host id="{name}" speed="1Gf"/>' for name in HOSTS)
    links = "".join(
        f'<link id="l{name}" bandwidth="10Gbps" latency="{latency}" sharing_policy="SPLITDUPLEX"/>' for name in HOSTS
    )
    up = {name: f'<link_ctn id="l{name}" direction="UP"/>' for name in HOSTS}
    down = {name: f'<link_ctn id="l{name}" direction="DOWN"/>' for name in HOSTS}
    routes = [
        f'<route src="{x}" dst="{y}" symmetrical="NO">{up[x]}{down[y]}</route>' for x in HOSTS for y in HOSTS if x != y
    ]
    routes += [f'<route src="{x}" dst="r" symmetrical="NO">{up[x]}</route>' for x in HOSTS]
    return (
        f'{HEAD}<zone id="main" routing="Full">{MASTER}<zone id="c" routing="Full">{hosts}<router id="r"/>{links}'
        f'{"".join(routes)}</zone><link id="b" bandwidth="10Gbps" latency="0us"/>'
        '<zoneRoute src="c" dst="master" gw_src="r" gw_dst="master_host"><link_ctn id="b"/></zoneRoute>'
        "</zone></platform>\n"
    )


def cluster(dice):
    """A cluster, and a master of its own zone or in a cluster of one host, where messages to itself take time."""
    backbone = dice.choice(["", ' bb_bw="2.25GBps" bb_lat="500us"', ' bb_bw="1GBps" bb_lat="10us"'])
    policy = dice.choice(["", ' sharing_policy="FATPIPE"', ' sharing_policy="SHARED"'])
    loopback = dice.choice(["", "", ' loopback_bw="1GBps" loopback_lat="7us"'])
    latency = dice.choice(["0us", "5us", "50us"])
    how = f'speed="1Gf" bw="125MBps" lat="{latency}"{backbone}{policy}{loopback}'
    inside = f'<cluster id="c" prefix="h" suffix="" radical="0-3" {how} router_id="r"/>'
    master, gate = MASTER, "master_host"
    if dice.random() < 0.6:
        master = (
            f'<cluster id="master" prefix="master_host" suffix="" radical="0-0" {how} router_id="m">'
            '<prop id="role" value="master"/></cluster>'
        )
        gate = "m"
    return (
        f'{HEAD}<zone id="main" routing="Full">{master}{inside}'
        f'<link id="b" bandwidth="1.25GBps" latency="{dice.choice(["0us", "10us", "500us"])}"/>'
        f'<zoneRoute src="c" dst="master" gw_src="r" gw_dst="{gate}"><link_ctn id="b"/></zoneRoute></zone></platform>\n'
    )


def platform(dice):
    """Any of them."""
    return dice.choice([lambda: star("0us"), lambda: star("50us"), *[lambda: cluster(dice)] * 3])()


def with_watts(dice, xml):
    """A platform whose hosts draw power."""
    idle, least, full = sorted(round(dice.uniform(5, 300), 3) for _ in range(3))
    prop = f'<prop id="wattage_per_state" value="{idle}:{least}:{full}"/>'
    xml = re.sub(r'<host id="(h\d)" speed="1Gf"/>', rf'<host id="\1" speed="1Gf">{prop}</host>', xml)
    return re.sub(r'(<cluster id="c" [^>]*)/>', rf"\1>{prop}</cluster>", xml)


def dates(dice):
    """A way to draw submission dates: whole, in tenths, within a message's time, or again and again the same ones."""
    kind = dice.choice(["whole", "tenths", "close", "any", "pool", "pool"])
    if kind == "pool":
        top, digits = dice.choice([10, 1e3, 1e5, 1e6]), dice.choice([0, 1, 2, 3, 6])
        pool = [round(dice.uniform(0, top), digits) for _ in range(dice.randint(2, 25))]
        return lambda: dice.choice(pool)
    return {
        "whole": lambda: float(dice.randint(0, 40)),
        "tenths": lambda: dice.randint(0, 400) / 10,
        "close": lambda: 3 + dice.randint(0, 60) * 5e-6,
        "any": lambda: dice.uniform(0, 40),
    }[kind]


def lengths(dice):
    """A way to draw run times and walltimes in s."""
    return lambda: dice.choice(
        [float(dice.randint(1, 10)), dice.randint(1, 100) / 10, dice.uniform(0.01, 20), dice.choice([1e-5, 1e-4, 5e-5])]
    )


def profiles_of(dice, length):
    """Some profiles by name; those called ``par`` are for two hosts."""
    found = {}
    talks = dice.random() < 0.5
    for number in range(dice.randint(1, 6)):
        kind = dice.choice(["delay", "homogeneous", "total", "par"])
        com = dice.choice([0, 0, dice.uniform(1e5, 1e9)]) if talks else 0
        found[f"{kind}{number}"] = {
            "delay": lambda: {"type": "delay", "delay": length()},
            "homogeneous": lambda com=com: {
                "type": "parallel_homogeneous", "cpu": dice.choice([0, length() * 1e9]), "com": com
            },
            "total": lambda com=com: {"type": "parallel_homogeneous_total", "cpu": length() * 1e9, "com": com},
            "par": lambda: {
                "type": "parallel",
                "cpu": [length() * 1e9, length() * 1e9],
                "com": [0, dice.choice([0, 1e8]) * talks, dice.choice([0, 1e7]) * talks, 0],
            },
        }[kind]() | ({"ret": 3} if dice.random() < 0.1 else {})  # fmt: skip
    parts = sorted(found)
    for number in range(dice.randint(0, 2)):
        chosen = dice.choices(parts, k=dice.randint(1, 3))
        name = f"seq{number}" if not any(part.startswith("par") for part in chosen) else f"parseq{number}"
        found[name] = {"type": "composed", "seq": chosen, "repeat": dice.randint(1, 3)}
    return found


def jobs_of(dice, profiles, date, length, count):
    """Some jobs with these profiles."""
    jobs = []
    for number in range(count):
        name = dice.choice(sorted(profiles))
        size = 2 if name.startswith("par") else dice.randint(1, 4)
        job = {"id": str(number), "subtime": date(), "res": size, "profile": name}
        if dice.random() < 0.4:
            job["walltime"] = length() * dice.choice([1, 1, 2, 3])
        jobs.append(job)
    return jobs


def read_alike(value):
    """Round numbers until Batsim's reader and Python's read the same of their text."""
    if isinstance(value, dict):
        return {name: read_alike(inside) for name, inside in value.items()}
    if isinstance(value, list):
        return [read_alike(inside) for inside in value]
    if isinstance(value, float):
        rounded = float(f"{value:.12g}")
        return rounded if read_number(repr(rounded)) == rounded else float(f"{value:.6g}")
    return value


def scenario_of(seed, energy=False):
    """Jobs on a platform, with a scheduler that starts, kills, rejects, requests calls, and answers late."""
    dice = random.Random(seed)
    date, length = dates(dice), lengths(dice)
    profiles = profiles_of(dice, length)
    count = dice.choice([dice.randint(1, 12), dice.randint(10, 50)])
    jobs = jobs_of(dice, profiles, date, length, count)
    chances = {
        "reject": dice.choice([0, 0.05]),
        "kill": dice.choice([0, 0.1, 0.4]),
        "kill_at_once": dice.choice([0, 0.1, 0.5]),
        "call": dice.choice([0, 0.3]),
        "late": dice.choice([0, 0, 0.3]),
    }
    made = scenario(dice, read_alike(jobs), read_alike(profiles), chances, dice.randint(0, 6))
    return made | {"xml": with_watts(dice, made["xml"]), "energy": True} if energy else made


def scenario(dice, jobs, profiles, chances, calls):
    """What both sides are given."""
    xml = platform(dice)
    waits = WAITS if 'prefix="master_host"' in xml else [*WAITS, *SHORT_WAITS]
    return {
        "seed": dice.randint(0, 10**9), "machines": len(HOSTS), "hosts": HOSTS, "xml": xml, "jobs": jobs,
        "profiles": profiles, "calls": calls, "chances": chances | {"waits": waits, "delays": DELAYS},
    }  # fmt: skip


def workflow_of(seed):
    """A workflow of tasks in layers, some of which take equally long."""
    dice = random.Random(seed)
    tasks, before = {}, []
    for _ in range(dice.randint(2, 5)):
        layer = []
        pool = [round(dice.uniform(0.5, 40), dice.choice([1, 2, 3])) for _ in range(dice.randint(1, 4))]
        for _ in range(dice.randint(1, 5)):
            name = f"t{len(tasks):03d}"
            tasks[name] = {"runtime": dice.choice(pool), "after": [], "before": []}
            for earlier in dice.sample(before, min(len(before), dice.randint(1, 3))):
                tasks[name]["after"].append(earlier)
                tasks[earlier]["before"].append(name)
            layer.append(name)
        before = layer
    chances = dict.fromkeys(("reject", "kill", "kill_at_once", "call", "late"), 0)
    return scenario(dice, [], {}, chances, 0) | {"workflow": tasks}


def smaller(tried):
    """Scenarios with a job, a walltime or a kind of decision less."""
    jobs = tried["jobs"]
    for place, job in enumerate(jobs):
        if len(jobs) > 1:
            yield tried | {"jobs": jobs[:place] + jobs[place + 1 :]}
        if "walltime" in job:
            without = {key: value for key, value in job.items() if key != "walltime"}
            yield tried | {"jobs": [*jobs[:place], without, *jobs[place + 1 :]]}
    for name, chance in tried["chances"].items():
        if isinstance(chance, float | int) and chance:
            yield tried | {"chances": tried["chances"] | {name: 0}}
    if tried["calls"]:
        yield tried | {"calls": tried["calls"] - 1}
    events = tried.get("outside", [])
    for place in range(len(events)):
        yield tried | {"outside": events[:place] + events[place + 1 :]}
    if "dynamic" in tried:
        own = tried["dynamic"]["jobs"]
        for place in range(len(own)):
            yield tried | {"dynamic": tried["dynamic"] | {"jobs": own[:place] + own[place + 1 :]}}


def shrunk(tried, differs):
    """Return the smallest scenario that is found to differ, too."""
    for candidate in smaller(tried):
        if differs(candidate):
            return shrunk(candidate, differs)
    return tried
