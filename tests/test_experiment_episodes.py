"""The episodes of an experiment: those held out and those for validation are never among those learned from."""

import json
from pathlib import Path

import pytest

from hdeeprm_like.experiment import episodes_of, load_experiment

ROOT = Path(__file__).parent.parent
TRAINED_ON, SET_ASIDE = 300, 20  # episodes of each purpose that are compared


def experiment(folder, **options):
    content = {
        "seed": 7,
        "pybatsim": {"agent": {"type": "LEARNING"}},
        **options,
    }
    (folder / "experiment.json").write_text(json.dumps(content))
    return load_experiment(folder / "experiment.json")


def fingerprint(workload):
    """Return what tells two workloads apart: their arrivals, sizes and run times."""
    return workload.submit.tobytes(), workload.size.tobytes(), workload.ops.tobytes(), workload.delay.tobytes()


def drawn_for_each_purpose(made):
    """Return the fingerprints of episodes to learn from, for validation and held out."""
    numbers = range(TRAINED_ON), range(SET_ASIDE), range(SET_ASIDE)
    return [[fingerprint(jobs_of(n)) for n in some] for jobs_of, some in zip(episodes_of(made), numbers, strict=True)]


@pytest.mark.parametrize("model", ["mao", "lublin"])
def test_a_model_makes_other_jobs_to_learn_from_than_to_validate_by_and_to_hold_out(tmp_path, model):
    made = experiment(
        tmp_path,
        nb_jobs=5,
        platform_file_path=str(ROOT / "platforms" / "pool_64.csv"),
        workload={"model": model},
    )
    training, validation, held_out = drawn_for_each_purpose(made)
    every_one = [*training, *validation, *held_out]
    assert len(set(every_one)) == TRAINED_ON + 2 * SET_ASIDE
    assert drawn_for_each_purpose(made) == [training, validation, held_out]


def test_no_job_of_a_fragment_to_learn_from_is_validated_by_or_held_out(tmp_path):
    gaia = experiment(
        tmp_path,
        nb_jobs=200,
        workload_file_path=str(ROOT / "workloads" / "gaia.swf.gz"),
        platform_file_path=str(ROOT / "platforms" / "gaia.json"),
        training={"fragment_jobs": 8},
    )
    training, validation, held_out = (
        {job for number in range(50) for job in jobs_of(number).ids} for jobs_of in episodes_of(gaia)
    )
    assert training.isdisjoint(validation)
    assert training.isdisjoint(held_out)
    assert validation.isdisjoint(held_out)
    assert len(validation) == len(held_out) == 200 // (5 * 8) * 8
