"""A generated matrix: names of policies x drivers x resources, in small crowded worlds.

Each cell has the schedule of `simulate`, or is refused before anything runs by the line of the table in
`hdeeprm_like.refusals`. A cell is called ``DRIVER WORLD POLICY``. Which ones are drawn follows from the date, and from
``HDEEPRM_LIKE_SEED`` where that is set: any text in place of the date, or the name of one cell to run alone::

    HDEEPRM_LIKE_SEED="stream-textbook pool random-random" pytest -m more tests/matrix
"""

import os
import random
import sys
import warnings
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "slurm")]

from crowded_worlds import MADE, Worlds
from playing import DRIVERS, difference, expected_refusal
from policy_names import agents, all_apart, drawn, resolved

from hdeeprm_like.errors import HDeepRMError

CELLS = 2000
AGENTS = 0.02  # share of the cells in the pool whose policy is an agent
SEED = os.environ["HDEEPRM_LIKE_SEED"]  # `tests/conftest.py` sets it
PLAYED, REFUSED = "played", "refused"
PAIRS = [(driver, world) for driver, one in DRIVERS.items() for world in one.worlds or MADE]


def cells(seed, count):
    """The names of some cells, those of one world together."""
    dice, found = random.Random(seed), {}
    pairs = [pair for pair in PAIRS for _ in range(DRIVERS[pair[0]].weight)]
    while len(found) < count:
        driver, world = dice.choice(pairs)
        name = dice.choice(agents()) if world == "pool" and dice.random() < AGENTS else drawn(dice)
        found[f"{driver} {world} {name}"] = world
    return sorted(found, key=found.__getitem__)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    return Worlds(tmp_path_factory.mktemp("matrix"))


def verdict(worlds, cell):
    """Play a cell; return whether it was played or refused, and what is wrong with that, if anything."""
    driver, world, name = cell.split(" ", 2)
    name, driver, world = resolved(name), DRIVERS[driver], worlds[world]
    wanted = expected_refusal(worlds, world, driver, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = driver.play(worlds, world, name)
    except HDeepRMError as error:
        same = str(error) == wanted and "\n" not in wanted
        return REFUSED, "" if same else f"refused by {str(error)!r}; the table has {wanted!r}"
    except AssertionError as error:
        return PLAYED, str(error)
    if wanted is not None:
        return PLAYED, f"played; the table has {wanted!r}"
    return PLAYED, difference(worlds, world, driver, name, found)


@pytest.mark.more
@pytest.mark.parametrize("cell", [SEED] if " " in SEED else cells(SEED, CELLS))
def test_a_cell_has_the_schedule_of_simulate_or_is_refused_as_the_table_says(cell, worlds):
    _, wrong = verdict(worlds, cell)
    assert not wrong, f"{cell!r} (seed {SEED}): {wrong}"


@pytest.mark.slow
@pytest.mark.parametrize(("driver", "world"), PAIRS)
def test_all_that_can_be_told_apart(driver, world, worlds):
    names = [name for name in all_apart() if world == "pool" or not name.startswith("agent:")]
    wrong = [(name, why) for name in names if (why := verdict(worlds, f"{driver} {world} {name}")[1])]
    assert not wrong, "\n".join(f"{driver} {world} {name}: {why}" for name, why in wrong[:20])
