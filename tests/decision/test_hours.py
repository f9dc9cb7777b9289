"""The hour and the rates of energy behind an observation, by the names of their objectives."""

from dataclasses import replace

import numpy as np
import pytest
from small import jobs

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.named_parts import space_with
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.run.episodes import Plays

THREE = jobs(submit=[0, 1, 1], seconds=[7200, 7200, 10])  # on one core: decisions at 0 and 1 s, 2 h and 4 h


@pytest.fixture
def space(tmp_path):
    (tmp_path / "tariff.csv").write_text("time,value\n0,0.1\n3600,0.4\n86400,0.2\n")
    (tmp_path / "wind.csv").write_text("time,value\n0,5\n10000,1\n")
    objective = {f"cost:{tmp_path}/tariff.csv": 1.0, f"carbon:{tmp_path}/wind.csv": 0.1, "avg_wait": 1.0}
    return space_with(PRESETS["HDeepRM"], {"observation": "minimal", "objective": objective, "reward": "integral"})


def seen(space):
    """Names of the columns that are added, and their values at each decision, beside what was seen without them."""
    plain, both = ([], [])
    for one, rows in ((space, plain), (replace(space, rates=True), both)):
        play = Plays(pool(1), lambda _: THREE, one, clock="textbook")(0)
        while play.advance():
            rows.append((play.system.state.now, play.observe()[0]))
            play.act(0)
    width = len(plain[0][1])
    assert all(one[1].tolist() == two[1][:width].tolist() for one, two in zip(plain, both, strict=True))
    names = replace(space, rates=True).layout(pool(1)).names[width:]
    return {round(now): dict(zip(names, row[width:].tolist(), strict=True)) for now, row in both}


def test_the_hour_and_each_rate_are_shown_by_name(space):
    found = seen(space)
    assert found[0]["cost:tariff.csv"] == pytest.approx(0.25)  # of the largest, .4
    assert found[0]["cost:tariff.csv then"] == pytest.approx(1.0)
    assert found[0]["carbon:wind.csv"] == 1.0
    late = found[7200]
    assert late["hour"] == pytest.approx(2 / 24)
    assert late["cost:tariff.csv"] == pytest.approx(1.0)
    assert (late["carbon:wind.csv"], late["carbon:wind.csv then"]) == (1.0, pytest.approx(0.2))
    assert late["time until a rate changes"] == pytest.approx(np.log1p(2800) / np.log1p(30 * 86400), rel=1e-6)


def test_a_batch_shows_what_a_single_run_does(space):
    space = replace(space, rates=True)
    plays = Plays(pool(1), lambda _: THREE, space, clock="textbook")
    runs, play = plays.batch(0, 2), plays(0)
    while play.advance():
        assert runs.observations[1].tolist() == play.observe()[0].tolist()
        play.act(0)
        runs.step(np.zeros(2, np.int64))


def test_rates_without_a_file_or_in_an_image_are_refused(space):
    with pytest.raises(OptionsError, match="no objective has any"):
        replace(PRESETS["HDeepRM"], rates=True).sample(pool(1))
    with pytest.raises(OptionsError, match="has no place for waiting times or rates"):
        replace(space, observation="image", rates=True).sample(pool(1))
