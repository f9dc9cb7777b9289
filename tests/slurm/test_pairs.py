"""A short pair of live runs: Slurm's own order and a watch, beside what a what-if predicts from the first one's log."""

import numpy as np
import pytest
from pairs import OWN, POLICIES, compact, jobs_of, play
from real_slurm import missing
from test_real_slurm import OneWatch
from told import predicted, waits

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"no real Slurm here: {missing()}")


# starts a real Slurm twice, whose jobs last some seconds each
@pytest.mark.slow
def test_a_pair_is_played_and_predicted(tmp_path):
    jobs, arms = jobs_of(7, count=40, span=10.0), {}
    for policy in (OWN, "sjf"):
        lines, conf = play(jobs, policy, OneWatch)
        assert all("JobState=COMPLETED" in line for line in lines)
        arms[policy] = [compact(line) for line in lines]
    assert len(arms[OWN]) == len(arms["sjf"]) == 40
    found = predicted({"conf": conf, "arms": arms}, tmp_path)
    assert set(found) == {OWN, *POLICIES}
    assert np.isfinite(list(found.values())).all()
    real = waits(arms["sjf"]).mean() / waits(arms[OWN]).mean()
    assert real < 1.0
    assert found["sjf"] / found[OWN] < 1.0
