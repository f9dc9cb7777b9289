"""Jobs that give way to others: worlds on paper, random ones, and queues of a real Slurm."""

from dataclasses import replace

import numpy as np
import pytest
from test_calibration import recorded
from test_whatif_changes import SLURM, log, machine, same

from hdeeprm_like.errors import HDeepRMError
from hdeeprm_like.studies.whatif.changes import change_named
from hdeeprm_like.studies.whatif.outcome import simulate

BY_TIER = "PreemptType=preempt/partition_prio; PreemptMode=REQUEUE; partition:debug.PriorityTier=2"
BY_QOS = "PreemptType=preempt/qos; PreemptMode=REQUEUE; qos:high.Preempt=normal,low; qos:normal.Preempt=low; {}"
LOW, HIGH = {"partition": "batch"}, {"partition": "debug"}
AGAIN = 121.0  # s after which a requeued job may start again
BEHIND = [(0, 4000, 2, LOW), (1000, 500, 1, HIGH)]  # two cores, and what comes when they are busy


def played(rows, change, nodes=2, **settings):
    return simulate(machine(nodes, **settings), log(*rows), SLURM, change_named(change))


@pytest.mark.parametrize(
    ("change", "start", "finish"),
    [
        (BY_TIER, [1500, 1000], [5500, 1500]),  # the work of 1000 s is lost
        (BY_TIER.replace("REQUEUE", "CANCEL"), [0, 1000], [1000, 1500]),
        (BY_TIER.replace("REQUEUE", "OFF"), [0, 4000], [4000, 4500]),
        (f"{BY_TIER}; partition:batch.PreemptMode=OFF", [0, 4000], [4000, 4500]),
        (f"{BY_TIER}; PreemptExemptTime=30", [2300, 1800], [6300, 2300]),  # of min
        (BY_TIER.replace("PriorityTier=2", "PriorityTier=1"), [0, 4000], [4000, 4500]),
        ("partition:debug.PriorityTier=2; PreemptMode=REQUEUE", [0, 4000], [4000, 4500]),
    ],
)
def test_a_job_of_a_higher_tier_takes_the_place_of_a_running_one(change, start, finish):
    found = played(BEHIND, change)
    assert same(found.start, start)
    assert same(found.finish, finish)


def test_a_requeued_job_may_start_again_after_two_minutes_though_nodes_are_free():
    rows = [(0, 4000, 2, LOW), (0, 4000, 2, LOW), (1000, 50, 2, HIGH)]
    found = played(rows, BY_TIER, nodes=4)
    assert same(found.start, [1000 + AGAIN, 0, 1000]) or same(found.start, [0, 1000 + AGAIN, 1000])


def test_no_more_jobs_give_way_than_are_needed_and_those_on_few_nodes_do_so_first():
    rows = [(0, 4000, 1, LOW), (0, 4000, 3, LOW), (1000, 500, 1, HIGH)]  # debug is the first two of the nodes
    assert same(played(rows, BY_TIER, nodes=4).start, [1500, 0, 1000])
    rows[2] = (1000, 500, 2, HIGH)
    assert same(played(rows, BY_TIER, nodes=4).start, [1000 + AGAIN, 1500, 1000])


def test_a_job_for_which_too_few_give_way_keeps_the_nodes_reserved_for_it():
    # debug has two nodes, one of them busy until 2000 with a job that gives way to none. 2 wants both, and a low job
    # has the other: so 3, which would run beyond 2000, may not take its place
    rows = [(0, 2000, 1, HIGH), (0, 4000, 2, LOW), (10, 500, 2, HIGH), (20, 6000, 1, HIGH)]
    assert same(played(rows, BY_TIER, nodes=4).start, [0, 2000 + AGAIN, 2000, 2500])


@pytest.mark.parametrize(
    ("more", "start"),
    [
        ("", [1500, 1000]),
        ("qos:normal.PreemptMode=CANCEL", [0, 1000]),
        ("qos:normal.PreemptExemptTime=1:00:00", [4100, 3600]),
        ("qos:high.Preempt=low", [0, 4000]),
        ("PreemptType=preempt/none", [0, 4000]),
    ],
)
def test_a_job_of_a_qos_takes_the_place_of_those_that_it_preempts(more, start):
    rows = [(0, 4000, 2, {"qos": "normal"}), (1000, 500, 1, {"qos": "high"})]
    assert same(played(rows, BY_QOS.format(more or "load=1")).start, start)


def test_a_job_that_preempts_others_is_served_before_them_whatever_its_priority():
    rows = [(0, 4000, 2, {"qos": "normal"}), (1, 500, 2, {"qos": "normal"}), (2, 500, 1, {"qos": "high"})]
    exempt = "PreemptMode=OFF; qos:normal.Priority=9; qos:high.Priority=1"
    first = played(rows, BY_QOS.format(exempt), PriorityWeightQOS=1000)
    assert same(first.start, [0, 4000, 4500])  # no job ever gives way, so the priority decides
    found = played([(0, 4000, 2, {"qos": "top"}), *rows[1:]], BY_QOS.format("load=1"), PriorityWeightQOS=1000)
    assert same(found.start, [0, 4500, 4000])


def test_jobs_of_low_priority_give_way_before_others():
    rows = [(0, 4000, 1, {"qos": "normal"}), (0, 4000, 1, {"qos": "low"}), (1000, 500, 1, {"qos": "high"})]
    ranks = "qos:high.Priority=9; qos:normal.Priority=5; qos:low.Priority=1"
    assert same(played(rows, BY_QOS.format(ranks)).start, [0, 1500, 1000])
    twice = played(rows, BY_QOS.format(ranks.replace("=5", "=0"))).start
    assert same(twice, [1000 + AGAIN, 1500, 1000])  # normal gives way, and later takes the place of low itself


def test_jobs_give_way_as_often_as_the_tables_have_places_for_them(monkeypatch):
    monkeypatch.setattr("hdeeprm_like.decision.policies.preemption_rows.REQUEUES", 1)  # times each on average
    rows = [(0, 4000, 6, LOW), *((1000 * at, 50, 1, HIGH) for at in range(1, 4)), *[(9000, 50, 1, HIGH)] * 3]
    found = played(rows, BY_TIER, nodes=6)  # twelve places, so the job on six nodes gives way twice
    assert same(found.start, [2000 + AGAIN, 1000, 2000, 6000 + AGAIN, 9000, 9000, 9000])


@pytest.mark.more
@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_lost_in_random_worlds(seed):
    """Each job runs to its end, never more at once than there are cores, and none is preempted by its like."""
    draw = np.random.default_rng(seed)
    rows = [
        (int(draw.integers(0, 9000)), int(draw.integers(1, 900)), int(draw.integers(1, 5)), {"qos": str(qos)})
        for qos in draw.choice(["low", "normal", "high"], 60)
    ]
    rows.sort(key=lambda row: row[0])
    found = played(rows, BY_QOS.format("PreemptExemptTime=1"), nodes=4)
    seconds, size = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    assert np.isfinite(found.finish).all()
    assert np.allclose(found.finish - found.start, seconds)
    assert (found.start >= found.submit).all()
    for date in np.unique(found.start):
        assert size[(found.start <= date) & (date < found.finish)].sum() <= 4
    high = np.array([row[3]["qos"] == "high" for row in rows])
    without = played(rows, "PreemptType=preempt/none", nodes=4)
    assert found.wait[high].mean() < without.wait[high].mean()


# plays a recorded queue
@pytest.mark.more
@pytest.mark.parametrize(("name", "wait", "order"), [("requeue", 0.1, 0.85), ("by_qos", 0.1, 0.65)])
def test_a_recorded_queue_with_preemption_is_retold(name, wait, order, tmp_path):
    from hdeeprm_like.studies.whatif.calibration import tau

    where, what = recorded(name, tmp_path)
    found = simulate(where, what, SLURM)
    assert abs(found.wait.mean() / what.wait.mean() - 1) <= wait
    assert tau(what.jobs.submit + what.wait, found.start) >= order
    never = simulate(where, what, SLURM, change_named("PreemptType=preempt/none"))
    urgent = np.array([word in ("urgent", "high") for word in what.words["QOS" if name == "by_qos" else "Partition"]])
    assert abs(found.wait[urgent].mean() - what.wait[urgent].mean()) < 1.5
    assert found.wait[urgent].mean() < 0.6 * never.wait[urgent].mean()
    assert found.wait[~urgent].mean() > never.wait[~urgent].mean()


def test_a_change_of_a_partition_that_there_is_not_is_refused():
    with pytest.raises(HDeepRMError, match="nowhere"):
        played(BEHIND, "partition:nowhere.PreemptMode=OFF")


def test_a_machine_that_preempts_does_so_without_a_change():
    slurm = {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"}
    tiers = machine(2, **slurm)
    tiers = replace(tiers, partitions=replace(tiers.partitions, tiers=np.array([1.0, 2.0])))
    assert same(simulate(tiers, log(*BEHIND), SLURM).start, [1500, 1000])
