"""Random scenarios in which machines change, or jobs talk, or the scheduler brings jobs of its own."""

import random
import re

from scenario_scheduler import interval_set
from scenarios import HOSTS, dates, jobs_of, lengths, profiles_of, read_alike, scenario

NONE = dict.fromkeys(("reject", "kill", "kill_at_once", "call", "late"), 0)
SLEEP, OFF, ON = 3, 4, 5  # P-states behind those that compute
ANSWERS = ["ok", "o.*", ".*", "[a-z]+", "x[0-9]"]


def with_pstates(dice, xml, sleeps):
    """A platform whose hosts have three computing P-states and one in which they sleep, and draw power."""

    def host():
        speeds = [f"{dice.uniform(0.2, 4):.4f}Gf" for _ in range(3)] + ["1e-9Mf"]
        speeds += [f"{1 / dice.choice([2.0, 0.5, 7.3, 1e-4, 3e-5]):.6g}f" for _ in range(2)]
        watts = [sorted(round(dice.uniform(5, 300), 3) for _ in range(3)) for _ in speeds]
        props = {"wattage_per_state": ", ".join(":".join(map(str, three)) for three in watts)}
        if sleeps:
            props["sleep_pstates"] = f"{SLEEP}:{OFF}:{ON}"
        return ",".join(speeds), "".join(f'<prop id="{name}" value="{value}"/>' for name, value in props.items())

    def one(found):
        speeds, props = host()
        return f'<host id="{found[1]}" speed="{speeds}" core="{dice.choice([1, 1, 1, 2])}">{props}</host>'

    xml = re.sub(r'<host id="(h\d)" speed="1Gf"/>', one, xml)
    speeds, props = host()
    return re.sub(r'(<cluster id="c" [^>]*)speed="1Gf"([^>]*)/>', rf'\1speed="{speeds}"\2>{props}</cluster>', xml)


def outside_of(dice, date):
    """Machines that leave and come back, and events of another kind."""
    dates_of_all = sorted({round(abs(date()), 6) for _ in range(dice.randint(1, 10))})
    events, away = [], set()
    for time in dates_of_all:
        kind = dice.choice(["machine_unavailable", "machine_available", "lunch"])
        some = sorted(away if kind == "machine_available" else set(range(len(HOSTS))) - away)
        if kind == "lunch" or not some:
            events.append({"type": "lunch", "timestamp": time})
            continue
        chosen = sorted(dice.sample(some, dice.randint(1, len(some))))
        away = away - set(chosen) if kind == "machine_available" else away | set(chosen)
        events.append({"type": kind, "timestamp": time, "machines": chosen, "resources": interval_set(chosen)})
    return events


def chances_of(dice):
    """How often a scheduler does what."""
    return {
        "reject": dice.choice([0, 0.05]),
        "kill": dice.choice([0, 0, 0.1, 0.3]),
        "kill_at_once": dice.choice([0, 0, 0.3]),
        "call": dice.choice([0, 0.3]),
        "late": dice.choice([0, 0, 0, 0.3]),
        "speed": dice.choice([0.2, 0.6]),
        "query": dice.choice([0, 0, 0.2]),
    }


def machines_of(seed):
    """Machines that change their speed while jobs run, sleep and wake, and that leave and come back."""
    dice = random.Random(seed)
    date, length = dates(dice), lengths(dice)
    profiles = profiles_of(dice, length)
    jobs = jobs_of(dice, profiles, date, length, dice.randint(1, dice.choice([6, 25])))
    sleeps = dice.random() < 0.7
    chances = chances_of(dice) | ({"sleep": dice.choice([0.2, 0.5]), "wake": dice.choice([0.3, 0.7])} if sleeps else {})
    made = scenario(dice, read_alike(jobs), read_alike(profiles), chances, dice.randint(0, 3))
    made |= {"xml": with_pstates(dice, made["xml"], sleeps), "energy": True, "computing": 3}
    made["sleeps"] = {str(SLEEP): [OFF, ON]} if sleeps else {}
    return made | ({"outside": outside_of(dice, date)} if dice.random() < 0.5 else {})


def talks_of(dice, length, profiles):
    """Profiles of jobs that send and receive, beside those that they may run then."""
    simple = sorted(name for name in profiles if not name.startswith(("par", "seq")))
    if not simple:
        profiles["delay"] = {"type": "delay", "delay": length()}
        simple = ["delay"]
    found = {}
    for number in range(dice.randint(1, 4)):
        if dice.random() < 0.5:
            found[f"say{number}"] = {"type": "send", "msg": {"q": number}}
            if dice.random() < 0.6:
                found[f"say{number}"]["sleeptime"] = length()
            continue
        hear = found[f"hear{number}"] = {"type": "recv", "regex": dice.choice(ANSWERS)}
        for key in ("success", "failure", "timeout"):
            if dice.random() < 0.5:
                hear[key] = dice.choice(simple)
        if dice.random() < 0.6:
            hear["polltime"] = dice.choice([0.25, 1.0, 0.013, 3.7])
    talking = sorted(found)
    for number in range(dice.randint(1, 2)):
        parts = dice.choices([*talking, *talking, *simple], k=dice.randint(2, 4))
        found[f"talk{number}"] = {"type": "composed", "seq": parts, "repeat": dice.randint(1, 2)}
    found["keep"] = {"type": "composed", "seq": simple}  # Batsim drops a profile that only a recv names
    return found


def talking_of(seed):
    """Jobs that talk with the scheduler, which brings jobs of its own."""
    dice = random.Random(seed)
    date, length = dates(dice), lengths(dice)
    profiles = profiles_of(dice, length)
    talk = talks_of(dice, length, profiles) if dice.random() < 0.8 else {}
    profiles |= talk
    jobs = jobs_of(dice, profiles, date, length, dice.randint(1, dice.choice([6, 20])))
    if talk:
        jobs.append({"id": "keep", "subtime": date(), "res": 1, "profile": "keep"})
    chances = chances_of(dice) | {"speed": 0, "message": dice.choice([0.2, 0.6]), "register": dice.choice([0.1, 0.5])}
    chances["query"] = 0
    made = scenario(dice, read_alike(jobs), read_alike(profiles), chances, dice.randint(0, 3))
    made["dynamic"] = {"jobs": [], "acknowledged": dice.random() < 0.5}
    for number in range(dice.choice([0, 3, 12])):
        made["dynamic"]["jobs"].append(read_alike(own_job(dice, number, length)))
    return made


def own_job(dice, number, length):
    """A job of the scheduler's, and its profile."""
    name = f"d{number}"
    own = {
        "delay": {"type": "delay", "delay": length()},
        "compute": {"type": "parallel_homogeneous", "cpu": length() * 1e9, "com": dice.choice([0, 0, 1e7])},
        "say": {"type": "send", "msg": {"from": name}},
    }
    kind = dice.choice([*own, "seq"])
    profiles = {f"{name}{part}": content for part, content in own.items() if kind in (part, "seq")}
    if kind == "seq":
        profiles[f"{name}seq"] = {"type": "composed", "seq": sorted(profiles), "repeat": dice.randint(1, 2)}
    job = {"id": f"dyn!{name}", "res": dice.randint(1, 3), "profile": f"{name}{kind}"}
    if dice.random() < 0.4:
        job["walltime"] = length() * dice.choice([1, 2, 3])
    return {"job_id": f"dyn!{name}", "profiles": profiles, "job": job}
