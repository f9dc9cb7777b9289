import numpy as np
import pytest

from hdeeprm_like.cluster.synthetic.campaigns import CAMPAIGNS, Campaigns
from hdeeprm_like.cluster.synthetic.jobs import BATCH, INTERACTIVE


def drawn(jobs=20_000, seed=1, **parameters):
    return Campaigns(**parameters).draw(jobs, np.random.default_rng(seed))


def test_both_kinds_arrive_at_their_rates_and_in_the_order_of_their_submission():
    jobs = drawn()
    days = jobs.submit[-1] / 86400.0
    short, wide = jobs.queue == INTERACTIVE, jobs.queue == BATCH
    assert (np.diff(jobs.submit) >= 0.0).all()
    assert jobs.submit[0] == 0.0
    assert short.sum() / days == pytest.approx(576, rel=0.03)
    assert wide.sum() / days == pytest.approx(4 * 4, rel=0.15)  # campaigns of 2 to 6 jobs
    assert set(jobs.size[short]) == {1, 2, 4, 8}
    assert set(jobs.size[wide]) == {8, 16, 32}
    assert np.median(jobs.run[short]) == pytest.approx(180.0, rel=0.03)
    assert np.median(jobs.run[wide]) == pytest.approx(7200.0, rel=0.15)


def test_jobs_of_a_campaign_are_alike_and_come_together():
    jobs = drawn(400, short_rate=0.001, campaign_rate=2.0, campaign_variation=0.0, short_size=(1,))
    wide = jobs.queue == BATCH
    gaps = np.isclose(np.diff(jobs.submit[wide]), 5.0)
    assert (np.diff(jobs.size[wide])[gaps] == 0).all()
    assert np.allclose(np.diff(jobs.run[wide])[gaps], 0.0)
    assert gaps.mean() == pytest.approx(0.75, abs=0.1)


def test_requests_are_longer_by_a_factor_and_the_same_seed_draws_the_same_jobs():
    jobs, again = drawn(500), drawn(500)
    factor = jobs.requested_time / jobs.run
    assert (factor >= 1.2).all()
    assert (factor <= 3.0).all()
    assert jobs.requested_time.tolist() == again.requested_time.tolist()
    assert len(jobs) == 500
    assert jobs.load < 0.4


def test_the_model_has_a_name():
    assert list(CAMPAIGNS) == ["two-kinds"]
    assert CAMPAIGNS["two-kinds"].on(64).capacity == 64
