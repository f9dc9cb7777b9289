"""`multifactor+slurm` against what a real Slurm did with recorded queues, see `golden/slurm/queues/README.md`.

The bounds are what the model reached when they were recorded, rounded; they tell when it gets worse. Only `linear` and
`shallow` are near what one would wish: 95 % of the starts within the interval, and the mean wait within 5 %. Where
cores of shared nodes decide, a start that comes a fraction of a second later changes all that follows, in Slurm itself,
too: its two runs of the queue `cores` agree for 60 % of the starts.
"""

import numpy as np
import pytest
from slurm_recordings import RUNS, recording

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.studies.whatif.fidelity import rank_correlation

BOUNDS = {
    "cores": (0.55, 0.04, 0.91),
    "fairshare": (0.42, 0.07, 0.77),
    "linear": (1.0, 0.01, 0.96),
    "shallow": (0.94, 0.05, 0.92),
    "shapes": (0.54, 0.03, 0.76),
    "usual": (0.75, 0.17, 0.79),
}  # least share of starts within the interval, most error of the mean wait, least rank correlation of the waits


@pytest.mark.parametrize("name", RUNS)
def test_starts_and_waits_are_those_of_slurm(name, tmp_path):
    told = recording(name, tmp_path)
    policies = PolicyActions([baseline("multifactor+slurm")])
    tasks = run_to_end(told.platform, told.jobs, policies, "textbook", epoch=told.epoch).simulation.tasks
    interval = told.platform.partitions.settings.get("SchedulerParameters", {}).get("bf_interval", 30.0)
    wait, real = tasks["start"] - told.jobs.submit, told.start - told.jobs.submit
    least, most, order = BOUNDS[name]
    assert np.mean(np.abs(wait - real) <= interval) >= least
    assert abs(wait.mean() / real.mean() - 1.0) <= most
    assert rank_correlation(wait, real) >= order
