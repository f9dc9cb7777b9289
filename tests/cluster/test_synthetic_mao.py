"""DeepRM's jobs, KSU's sets, and HDeepRM's columns over the jobs of any model."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdeeprm_like.cluster.synthetic.jobs import BANDWIDTHS, with_hdeeprm_columns, with_memory
from hdeeprm_like.cluster.synthetic.ksu import Ksu
from hdeeprm_like.cluster.synthetic.lublin import BATCH_JOBS, WHOLE_LOG
from hdeeprm_like.cluster.synthetic.mao import MAO, Mao
from hdeeprm_like.errors import WorkloadError


def rng(seed=0):
    return np.random.default_rng(seed)


def test_jobs_arrive_in_the_share_of_steps_that_is_requested():
    jobs = Mao(arrival=0.3, steps=100_000).draw(None, rng())
    assert len(jobs) / 100_000 == pytest.approx(0.3, abs=0.01)
    assert (np.diff(jobs.submit) >= 1).all()
    assert jobs.submit[-1] < 100_000


def test_lengths_and_resources_have_the_shares_of_the_dissertation():
    jobs = Mao(steps=None).draw(50_000, rng())
    lengths = jobs.run.astype(int)
    long = lengths >= 10
    assert long.mean() == pytest.approx(0.2, abs=0.01)
    assert set(lengths[~long].tolist()) == {1, 2, 3}
    assert set(lengths[long].tolist()) == set(range(10, 16))
    units = np.round(jobs.memory * jobs.size).astype(int)
    cores_dominant = jobs.size >= 5
    assert cores_dominant.mean() == pytest.approx(0.5, abs=0.01)
    assert set(jobs.size[cores_dominant].tolist()) == set(range(5, 11)) == set(units[~cores_dominant].tolist())
    assert set(jobs.size[~cores_dominant].tolist()) == {1, 2} == set(units[cores_dominant].tolist())


def test_a_number_of_jobs_and_an_episode_whichever_ends_first():
    assert len(Mao(arrival=1.0, steps=50).draw(None, rng())) == 50
    assert len(Mao(arrival=1.0, steps=50).draw(20, rng())) == 20
    assert len(Mao(arrival=1.0, steps=50).draw(80, rng())) == 50
    with pytest.raises(WorkloadError, match="mao: jobs or steps: one of them is needed"):
        Mao(steps=None).draw(None, rng())


@pytest.mark.parametrize(
    ("preset", "capacity", "short", "long", "size"),
    [
        ("scenario-1", 10, (1, 3), (10, 15), (5, 10)),
        ("scenario-4", 38, (1, 6), (22, 33), (16, 32)),
        ("scenario-9", 64, (1, 9), (32, 48), (16, 32)),
        ("scenario-10", 64, (1, 9), (32, 48), (32, 64)),
        ("short", 64, (1, 9), (32, 48), (16, 32)),
        ("long", 64, (1, 90), (320, 480), (16, 32)),
    ],
)
def test_scenarios_are_those_of_the_tables(preset, capacity, short, long, size):
    model = MAO[preset]
    assert (model.capacity, model.short_length, model.long_length, model.size) == (capacity, short, long, size)
    assert not model.draw(None, rng()).memory.any()


def test_deeprm_itself_is_the_dissertation_s_with_more_arrivals():
    assert MAO["deeprm"] == replace(MAO["dissertation"], arrival=0.7)


@given(st.sampled_from(sorted(MAO)), st.integers(1, 100), st.integers(0, 2**32))
def test_jobs_fit_the_machine_that_they_are_made_for(preset, count, seed):
    model = replace(MAO[preset], steps=None)
    jobs = model.draw(count, rng(seed))
    again = model.draw(count, rng(seed))
    assert len(jobs) == count
    assert 1 <= jobs.size.min() <= jobs.size.max() <= model.capacity
    assert (jobs.memory * jobs.size).max() <= model.capacity + 1e-9
    assert np.array_equal(jobs.submit, again.submit)
    assert np.array_equal(jobs.size, again.size)


def test_an_episode_without_jobs_says_so():
    with pytest.raises(WorkloadError, match="no job arrives in 1 steps"):
        Mao(arrival=1e-6, steps=1).draw(None, rng())


def test_a_set_of_ksu_has_large_jobs_two_percent_gpu_jobs_and_one_submission():
    jobs = Ksu().draw(2040, rng())
    with_gpus = jobs.gpus > 0
    assert len(jobs) == 2040
    assert with_gpus.sum() == 40
    assert (jobs.size[~with_gpus] > 20).all()
    assert not jobs.submit.any()
    assert set(jobs.gpus[with_gpus].tolist()) <= {1, 2, 4}
    assert 0 < np.flatnonzero(with_gpus).mean() < 2039


def test_a_set_of_ksu_never_takes_a_job_of_the_log_twice():
    log = WHOLE_LOG.on(256).draw(400, rng())
    log = replace(log, run=np.arange(400.0) + 1)
    large = int((log.size > 20).sum())
    jobs = Ksu(gpu_share=0.25).sample(log, large, rng(1))
    assert len(set(jobs.run.tolist())) == large
    with pytest.raises(WorkloadError, match=rf"ksu: the log has {large} jobs of more than 20 cores, 400 are needed"):
        Ksu(gpu_share=0.0).sample(log, 400, rng())


def test_hdeeprm_s_columns_are_those_of_the_thesis():
    jobs = with_hdeeprm_columns(BATCH_JOBS.draw(50_000, rng()), rng(1))
    values, counts = np.unique(jobs.bandwidth, return_counts=True)
    assert values.tolist() == BANDWIDTHS.tolist()
    assert np.abs(counts / 50_000 - 1 / 6).max() < 0.01
    assert np.median(jobs.memory) == pytest.approx(72, abs=3)  # thesis 5.2: 72, 829, 38,558
    assert np.quantile(jobs.memory, 0.95) == pytest.approx(829, rel=0.1)
    assert jobs.memory.max() <= 38_558
    assert (jobs.memory == np.floor(jobs.memory)).all()


def test_memory_that_a_model_has_is_kept_and_that_it_draws_can_be_bounded():
    mao = Mao().draw(None, rng())
    assert np.array_equal(with_hdeeprm_columns(mao, rng()).memory, mao.memory)
    assert with_memory(BATCH_JOBS.draw(5000, rng()), rng(), most=100.0).memory.max() == 100.0
