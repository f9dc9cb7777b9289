"""Names of policies, drawn: orders x modes x placements x predictors, pairs, learned policies and agents."""

from pathlib import Path

from hdeeprm_like.decision.agent_names import zoo_agents
from hdeeprm_like.decision.names import (
    CORE_POLICY_NAMES,
    JOB_POLICY_NAMES,
    MODES,
    ORDERS,
    PACKINGS,
    PLACEMENT_NAMES,
    RUN_TIMES,
    policy_in,
)
from hdeeprm_like.decision.score_files import zoo
from hdeeprm_like.errors import OptionsError

PREDICTORS = tuple(name for name in RUN_TIMES if name not in ("requested", "actual"))
OPTIONS = {
    "reserve": ("", ":4", ":4:100", ":0", ":2:30.5"),
    "bounded": ("", ":.1", ":2", ":100"),
    "slurm": ("", ":60", ":0", ":30:500"),
}
HERE = Path(__file__).parent / "policies"  # learned policies of one's own
LEARNED = (*(f"zoo:{name}" for name in zoo()), *(f"scored:{path.name}" for path in sorted(HERE.glob("*.json"))))


def resolved(name):
    """A name with the whole paths of its files, which the names of cells leave out."""
    return name.replace("scored:", f"scored:{HERE}/")


def exists(name):
    """Whether the parts of a name go together, whatever plays them; a packing mode and random cores do not."""
    try:
        return name.startswith("agent:") or policy_in(resolved(name)) is not None
    except OptionsError:
        return False


def drawn(dice):
    """A name of a policy that exists."""
    while not exists(name := drawn_at_once(dice)):
        pass
    return name


def drawn_at_once(dice):
    kind, placed = dice.random(), dice.random() < 0.6
    placement = f"-{dice.choice(PLACEMENT_NAMES)}" if placed else ""
    if kind < 0.12:
        return f"{dice.choice(JOB_POLICY_NAMES)}-{dice.choice(CORE_POLICY_NAMES)}"
    if kind < 0.35:
        mode = dice.choice(("", "", "+bounded", "+slurm"))
        times = dice.choice(("", "", "", *(f"@{name}" for name in RUN_TIMES)))
        options = dice.choice(OPTIONS[mode[1:]]) if mode else ""
        return f"{dice.choice(LEARNED)}{times}{mode}{options}{placement if dice.random() < 0.3 else ''}"
    mode = dice.choice([name for name in MODES if name != "scored"])
    if mode == "packing" and placed:
        placement = f"-{dice.choice(tuple(PACKINGS))}"
    elif placed and dice.random() < 0.12:
        placement = f"-{dice.choice(LEARNED)}"
    order_times = dice.choice(("", "", "", "", *(f"@{name}" for name in (*PREDICTORS, "actual"))))
    times = dice.choice(("", "", "", "", "P", *(f"@{name}" for name in (*PREDICTORS, "actual"))))
    options = dice.choice(OPTIONS.get(mode, ("",)))
    return f"{dice.choice(tuple(ORDERS))}{'' if times == 'P' else order_times}+{mode}{options}{times}{placement}"


def all_apart():
    """Every name that can be told apart: each part with each other part that it may act on."""
    names = [f"{order}+{mode}" for order in ORDERS for mode in MODES if mode != "scored"]
    names += [f"{job}-{core}" for job in JOB_POLICY_NAMES for core in CORE_POLICY_NAMES]
    names += [
        f"saf+{mode}-{placement}" for mode in ("easy", "conservative", "packing") for placement in PLACEMENT_NAMES
    ]
    names += [f"sjf@{times}+{mode}" for times in RUN_TIMES for mode in ("easy", "conservative", "slurm")]
    names += [f"fcfs+{mode}@{times}" for times in RUN_TIMES for mode in ("easy", "conservative", "easysjf", "reserve")]
    names += [f"saf+{mode}{option}" for mode, options in OPTIONS.items() for option in options if option]
    for name in LEARNED:
        names += [name, f"{name}+bounded:.5", f"{name}+slurm:60", f"{name}@survival", f"sjf+easy-{name}"]
    names += agents()
    return [name for name in dict.fromkeys(names) if exists(name)]


def agents():
    """The agents that come along and fit all machines; two-kinds sees the cores of its own."""
    return [f"agent:zoo/{name}" for name in zoo_agents() if name != "two-kinds"]
