"""Jobs that are suspended while others run on their cores: worlds on paper, random ones, and queues of a real Slurm."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from paper_clusters import cluster
from robust_inputs import printed
from small import partitions_of
from test_calibration import RECORDED, recorded
from test_whatif_changes import SLURM, log, same

from hdeeprm_like.errors import OptionsError
from hdeeprm_like.studies.whatif.calibration import tau
from hdeeprm_like.studies.whatif.changes import change_named
from hdeeprm_like.studies.whatif.outcome import simulate

LOW, MIDDLE, HIGH = ({"partition": name} for name in ("low", "middle", "high"))
SUSPEND = "PreemptType=preempt/partition_prio; PreemptMode=SUSPEND,GANG"


def tiers(*cores, **settings):
    """Nodes of so many cores each, and three partitions of all of them, one above the other."""
    nodes = len(cores)
    members = dict.fromkeys(("low", "middle", "high"), [True] * nodes)
    partitions = partitions_of(members, tiers=np.array([1.0, 2.0, 3.0]), settings=settings)
    processors = [(node, count, 1.0, 1.0) for node, count in enumerate(cores)]
    return replace(cluster(processors, memory=(800.0,) * nodes), partitions=partitions)


def played(rows, *cores, change=SUSPEND, **settings):
    return simulate(tiers(*cores, **settings), log(*rows), SLURM, change_named(change))


@pytest.mark.parametrize(
    ("change", "start", "finish"),
    [
        (SUSPEND, [0, 1000], [4500, 1500]),  # no work is lost
        (SUSPEND.replace("SUSPEND,GANG", "REQUEUE"), [1500, 1000], [5500, 1500]),
        (f"{SUSPEND}; partition:low.PreemptMode=OFF", [0, 4000], [4000, 4500]),
        (f"{SUSPEND}; partition:low.PreemptMode=CANCEL", [0, 1000], [1000, 1500]),
        (SUSPEND.replace("partition_prio", "none"), [0, 4000], [4000, 4500]),
    ],
)
def test_a_suspended_job_goes_on_where_it_stopped(change, start, finish):
    found = played([(0, 4000, 4, LOW), (1000, 500, 1, HIGH)], 4, change=change)
    assert same(found.start, start)
    assert same(found.finish, finish)


def test_a_suspended_job_keeps_its_memory():
    def memory(each):
        told = log((0, 4000, 4, LOW), (1000, 500, 4, HIGH))
        return replace(told, jobs=replace(told.jobs, memory=np.array([each, each])))

    assert same(simulate(tiers(4), memory(100.0), SLURM, change_named(SUSPEND)).start, [0, 1000])
    assert same(simulate(tiers(4), memory(101.0), SLURM, change_named(SUSPEND)).start, [0, 4000])


ALL, SHORT = (0, 4000, 4, LOW), (1000, 500, 1, HIGH)  # on four cores
THREE, TWO = (0, 4000, 3, LOW), (0, 4000, 2, LOW)
WORLDS = {  # jobs on four cores, when they start, and when they end
    "idle cores are used first": ([THREE, SHORT, SHORT], [0, 1000, 1000], [4500, 1500, 1500]),
    "one idle core suffices": ([THREE, SHORT], [0, 1000], [4000, 1500]),
    "only the job on the first core stops": ([TWO, TWO, SHORT], [0, 0, 1000], [4500, 4000, 1500]),
    "both jobs on the first three cores stop": ([TWO, TWO, (1000, 500, 3, HIGH)], [0, 0, 1000], [4500, 4500, 1500]),
    "it gets cores 0 and 1, though 3 is idle, and stays so": (
        [THREE, (1000, 500, 2, HIGH), (1200, 100, 1, LOW)], [0, 1000, 1200], [4500, 1500, 1300]
    ),
    "cores of a suspended job are kept from its like, though three do nothing": (
        [ALL, SHORT, (1100, 100, 1, LOW)], [0, 1000, 4500], [4500, 1500, 4600]
    ),
    "it stays suspended until the last one on its cores ends": (
        [ALL, SHORT, (1300, 500, 1, HIGH)], [0, 1000, 1300], [4800, 1500, 1800]
    ),
    "it is suspended twice": ([ALL, SHORT, (2000, 500, 1, HIGH)], [0, 1000, 2000], [5000, 1500, 2500]),
    "a job of a middle tier suspends and is suspended": (
        [ALL, (1000, 1000, 4, MIDDLE), (1500, 300, 4, HIGH)], [0, 1000, 1500], [5300, 2300, 1800]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "start", "finish"), WORLDS.values(), ids=WORLDS)
def test_on_paper(rows, start, finish):
    found = played(rows, 4)
    assert same(found.start, start)
    assert same(found.finish, finish)


def test_jobs_of_whole_nodes_suspend_all_that_is_there():
    some = tiers(4, 4)
    some = replace(some, partitions=replace(some.partitions, exclusive=np.array([False, False, True])))
    rows = [(0, 4000, 2, LOW), (0, 4000, 2, LOW), (0, 4000, 4, LOW), (1000, 500, 1, HIGH)]
    found = simulate(some, log(*rows), SLURM, change_named(SUSPEND))
    assert same(found.start, [0, 0, 0, 1000])
    assert sorted(found.finish) in ([1500, 4000, 4500, 4500], [1500, 4000, 4000, 4500])
    assert found.size[3] == 4


def test_a_suspended_job_uses_no_cores_and_counts_as_slowed_down():
    found = played([(0, 4000, 4, LOW), (1000, 500, 4, HIGH)], 4)
    assert found.utilization(np.ones(2, np.bool_)) == pytest.approx(1.0)
    assert found.slowdown(np.ones(2, np.bool_)) == pytest.approx([4500 / 4000, 1.0])


def test_a_core_that_two_jobs_share_is_planned_to_be_free_when_the_last_of_them_ends():
    """At 1200 s the limit of the first job is over, but another is on its cores: the fourth gets the other nodes."""
    rows = [
        (0, 1000, 4, LOW | {"estimate": 1200}),
        (0, 600, 2, LOW | {"estimate": 700}),
        (500, 3000, 2, HIGH | {"estimate": 90000}),
        (550, 100, 4, LOW | {"estimate": 5000}),
        (700, 100, 2, LOW | {"estimate": 2000}),  # it would fit on the third node, which the fourth job is to get
    ]
    assert same(played(rows, 2, 2, 2).start, [0, 0, 500, 4000, 3500])


def test_no_job_begins_on_a_node_that_is_completing():
    """Backfill looks at 101.1 s: all cores of the second node are idle, and one of them is not clean yet."""
    rows = [(0, 4000, 4, LOW), (0, 100, 1, LOW), (101, 50, 4, HIGH)]
    found = played(rows, 4, 4, end_latency=20.0, backfill_phase=101.1)
    assert found.start[2] == pytest.approx(101.1, abs=0.01)
    assert found.finish == pytest.approx([4050.0, 100.0, 151.1], abs=3.1)


@pytest.mark.more
@pytest.mark.parametrize("seed", range(12))
def test_no_core_serves_two_jobs_in_random_worlds(seed):
    """Each job does all of its work; the jobs of a tier and above never have more cores than there are."""
    draw = np.random.default_rng(seed)
    names, cores = ["low", "middle", "high"][: 2 + seed % 2], [4, 8, 2]
    rows = [
        (int(draw.integers(0, 9000)), int(draw.integers(1, 900)), int(draw.integers(1, 9)), {"partition": str(name)})
        for name in draw.choice(names, 80)
    ]
    rows.sort(key=lambda row: row[0])
    found = played(rows, *cores, end_latency=[0.08, 10.0, 0.0][seed % 3])
    seconds, size = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    tier = np.array([names.index(row[3]["partition"]) for row in rows])
    assert np.isfinite(found.finish).all()
    assert np.allclose(found.run, seconds)
    assert (found.size == size).all()
    top = tier == len(names) - 1
    assert np.allclose((found.finish - found.start)[top], seconds[top])
    assert (found.finish - found.start > seconds + 1.0).any()
    for date in np.unique(found.start):
        running = (found.start <= date) & (date < found.finish)
        for own in range(len(names)):
            assert size[running & (tier == own)].sum() <= sum(cores)
    never = played(rows, *cores, change="PreemptType=preempt/none")
    assert found.wait[top].mean() <= never.wait[top].mean() + 1.0


@pytest.mark.more
@pytest.mark.parametrize("name", ["suspend", "suspend_memory"])
def test_a_recorded_queue_with_suspended_jobs_is_retold_at_slurms_dates(name, tmp_path):
    where, what = recorded(name, tmp_path)
    exact = json.loads(gzip.decompress((RECORDED / name / "exact.json.gz").read_bytes()))
    rows = exact["jobs"]
    looks = {key: exact[key] for key in ("main_dates", "backfill_dates")}
    settings = {**where.partitions.settings, **looks, "first_full": exact["full_dates"][0], "end_latency": 0.001}
    where = replace(where, partitions=replace(where.partitions, settings=settings))
    submit, start, end = (np.array([row[key] for row in rows]) for key in ("submit", "start", "end"))
    pause = np.array([sum(row.get("resumed", [])) - sum(row.get("suspended", [])) for row in rows])
    what = replace(what, jobs=replace(what.jobs, submit=submit, delay=end - start - pause), epoch=exact["epoch"])
    found = simulate(where, what, SLURM)
    assert np.mean(np.abs(found.start - start) <= 1.0) >= 0.99
    assert abs(found.wait.mean() / (start - submit).mean() - 1) <= 0.001
    assert tau(start, found.start) >= 0.99
    assert np.abs(found.finish - found.start - found.run - pause).max() <= 1.0


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("PreemptMode=SUSPEND", "OFF, CANCEL, REQUEUE or SUSPEND,GANG is needed"),
        ("qos:high.PreemptMode=SUSPEND", "jobs are suspended between partitions only"),
        (
            "PreemptType=preempt/qos; PreemptMode=SUSPEND,GANG",
            "is modelled with PreemptType=preempt/partition_prio only",
        ),
    ],
)
def test_what_is_not_modelled_of_it_is_refused(change, why):
    with pytest.raises(OptionsError, match=why):
        played([(0, 10, 1, LOW)], 1, change=change)


@pytest.mark.parametrize(
    ("settings", "note"),
    [("PreemptType=preempt/qos", "no job is suspended"), ("PreemptType=preempt/partition_prio", "")],
)
def test_the_import_notes_what_is_not_modelled_of_it(settings, note, tmp_path):
    conf = f"ClusterName=c\n{settings}\nPreemptMode=SUSPEND,GANG\nNodeName=n1 CPUs=2\n"
    (tmp_path / "slurm.conf").write_text(f"{conf}PartitionName=batch Nodes=ALL OverSubscribe=FORCE:1\n")
    out = printed("import", "slurm-conf", tmp_path / "slurm.conf", "-o", tmp_path / "p.json")
    assert note in out
    assert ("suspend" in out.lower()) == bool(note)
