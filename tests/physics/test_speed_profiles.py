"""Hosts whose speed follows a file: their tasks end, and they use as much energy, as in SimGrid."""

import random

import pytest
from test_random_zones import assert_the_same, watts_text
from test_simgrid import pytestmark, random_task  # noqa: F401 - marks this file

NAMES = ["h0", "h1", "h2", "h3"]


def host_text(dice, name, folder):
    """A host of three P-states, and mostly a file of its speed."""
    speeds = ",".join(f"{dice.uniform(0.3, 4):.4f}Gf" for _ in range(3))
    more = ""
    if dice.random() < 0.8:
        dates = sorted(round(dice.uniform(0, 9), dice.choice([0, 3])) for _ in range(dice.randint(1, 5)))
        lines = [f"{date} {dice.choice([0, 1, round(dice.uniform(0.05, 1.5), 3)])}" for date in dates]
        lines[-1] = f"{dates[-1]} {dice.choice([0.4, 1])}"  # never without speed for ever
        if dice.random() < 0.5:
            lines.append(f"LOOPAFTER {dice.uniform(0.2, 5):.3f}")
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
        more = f'speed_file="{name}.txt"'
    watts = f'<prop id="wattage_per_state" value="{watts_text(dice)}"/>'
    return f'<host id="{name}" speed="{speeds}" core="{dice.choice([1, 1, 2])}" {more}>{watts}</host>'


def scenario_of(seed, folder):
    """Tasks on four hosts, and changes of P-states meanwhile."""
    dice = random.Random(seed)
    path = folder / "platform.xml"
    hosts = "".join(host_text(dice, name, folder) for name in NAMES)
    path.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">'
        f'<zone id="z" routing="Full"><host id="master_host" speed="1Gf"/>{hosts}</zone></platform>\n'
    )
    tasks = [random_task(dice, NAMES, round(i * dice.uniform(0, 2), 3), False, dice.random() < 0.2) for i in range(8)]
    changes = sorted((round(dice.uniform(0, 12), 3), dice.choice(NAMES), dice.randint(0, 2)) for _ in range(4))
    return {"platform": str(path), "tasks": tasks, "changes": changes, "energy": dice.random() < 0.5}


@pytest.mark.parametrize("seed", range(6))
def test_tasks_on_hosts_whose_speed_changes_end_when_simgrid_says(seed, tmp_path):
    assert_the_same(seed, tmp_path, scenario_of)


@pytest.mark.slow  # several minutes of SimGrid
def test_tasks_on_hosts_whose_speed_changes_end_when_simgrid_says_in_1000_worlds(tmp_path):
    for seed in range(1000, 2000):
        assert_the_same(seed, tmp_path, scenario_of)
