"""Hosts whose speed follows a file: their tasks end, and they use as much energy, as in SimGrid."""

import random

import pytest
from beside_simgrid import assert_the_same, needs_simgrid, random_task
from nested_zones import watts_text
from scenarios import HEAD, HOSTS

pytestmark = needs_simgrid()


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
    hosts = "".join(host_text(dice, name, folder) for name in HOSTS)
    path.write_text(
        f'{HEAD}<zone id="z" routing="Full"><host id="master_host" speed="1Gf"/>{hosts}</zone></platform>\n'
    )
    tasks = [random_task(dice, HOSTS, round(i * dice.uniform(0, 2), 3), False, dice.random() < 0.2) for i in range(8)]
    changes = sorted((round(dice.uniform(0, 12), 3), dice.choice(HOSTS), dice.randint(0, 2)) for _ in range(4))
    return {"platform": str(path), "tasks": tasks, "changes": changes, "energy": dice.random() < 0.5}


@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(1000, 2000), marks=pytest.mark.slow)], ids=str)
def test_tasks_on_hosts_whose_speed_changes_end_when_simgrid_says(seeds, tmp_path):
    for seed in seeds:
        assert_the_same(scenario_of(seed, tmp_path), tmp_path)
