"""Changes of a Slurm: each on jobs so few that what becomes of them can be drawn on paper.

Jobs last for thousands of seconds, and Slurm looks at its queue within a minute, so a start is right if it is within
that minute.
"""

from dataclasses import replace

import numpy as np
import pytest
from robust_inputs import printed
from small import jobs, partitions_of

from hdeeprm_like.cluster.partitions import Demand, demands_of
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.errors import HDeepRMError, OptionsError
from hdeeprm_like.formats.partitions_json import MODELLED, PARTITION_TIMES
from hdeeprm_like.studies.whatif.changes import change_named
from hdeeprm_like.studies.whatif.inputs import Log, load_log
from hdeeprm_like.studies.whatif.outcome import prepared, simulate
from hdeeprm_like.studies.whatif.slurm_keys import OF, PARAMETERS, SETTINGS, amounts, seconds
from hdeeprm_like.studies.whatif.windows import with_nodes

SLURM = baseline("multifactor+slurm")
LOOK = 61.0  # s within which Slurm looks at its queue


def machine(nodes=4, **settings):
    """Nodes of one core each; half of them, the first, are the partition debug, and all are the partition batch."""
    platform: Platform = with_nodes(pool(1), np.zeros(nodes, np.int64))
    partitions = partitions_of(
        {"batch": [True] * nodes, "debug": [n < nodes // 2 for n in range(nodes)]},
        settings={PARTITION_TIMES: {"batch": {"DefaultTime": 3600.0, "MaxTime": 86400.0}}, **settings},
    )
    return replace(platform, partitions=partitions)


def log(*rows, epoch=0.0):
    """Jobs as (submit, s, cores) and then by name estimate, user, account, qos and partition."""
    told = [{"estimate": row[1], **(row[3] if len(row) > 3 else {})} for row in rows]
    work = jobs(
        submit=[row[0] for row in rows],
        seconds=[row[1] for row in rows],
        size=[row[2] for row in rows],
        estimate=[one["estimate"] for one in told],
        delay=[row[1] for row in rows],
        ids=[f"w0!{n:03}" for n in range(len(rows))],
    )
    columns = ("User", "Account", "QOS", "Partition")
    words = {column: [one.get(column.lower(), "") for one in told] for column in columns}
    words["Constraints"] = [""] * len(rows)
    named = zip(words["Partition"], words["Account"], words["QOS"], strict=True)
    demands = demands_of([Demand(partition=part, account=account, qos=qos) for part, account, qos in named])
    user = np.unique(words["User"], return_inverse=True)[1]
    return Log(replace(work, demands=demands, user=user), np.full(len(rows), np.nan), epoch, words)


def starts(where, what, text=None):
    """When jobs start under a change."""
    return simulate(where, what, SLURM, None if text is None else change_named(text)).start


def same(found, expected):
    """Whether starts are those on paper, within the time that Slurm takes to look; NaN are jobs that never run."""
    late = found - np.array(expected, np.float64)
    return bool((np.isnan(late) & np.isnan(found) | (late >= 0.0) & (late <= LOOK)).all())


FOUR = [(0, 4000, 1, {"user": "ada", "account": "physics", "qos": "normal"}) for _ in range(4)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, [0, 0, 0, 0]),
        ("user:ada.MaxJobs=2", [0, 0, 4000, 4000]),
        ("user:*.MaxJobs=1", [0, 4000, 8000, 12000]),
        ("account:physics.GrpTRES=cpu=3", [0, 0, 0, 4000]),
        ("account:physics.GrpJobs=2", [0, 0, 4000, 4000]),
        ("account:*.MaxJobs=3", [0, 0, 0, 4000]),
        ("qos:normal.MaxTRESPerUser=cpu=2", [0, 0, 4000, 4000]),
        ("partition:batch.MaxJobsPerUser=2", [0, 0, 4000, 4000]),
        ("user:ada.MaxJobs=-1", [0, 0, 0, 0]),
        ("power=-10%; user:ada.MaxJobs=2", [0, 0, 4000, 4000]),
    ],
)
def test_jobs_beyond_a_limit_wait_for_one_of_theirs_to_end(text, expected):
    assert same(starts(machine(), log(*FOUR), text), expected)


def test_a_job_that_exceeds_a_limit_alone_never_runs_and_the_others_do():
    """Priorities that age are computed for ever; the run ends nevertheless."""
    physics = {"account": "physics"}
    what = log((0, 4000, 1, physics), (1, 4000, 3, physics), (2, 4000, 2, physics))
    found = simulate(machine(PriorityWeightAge=1000), what, SLURM, change_named("account:physics.GrpTRES=cpu=2"))
    assert same(found.start, [0, np.nan, 4000])
    assert found.size.tolist() == [1, 3, 2]
    with pytest.raises(HDeepRMError, match="none could run"):
        starts(machine(), what, "account:physics.GrpTRES=cpu=0")


def test_a_limit_holds_back_nobody_else():
    """Ada's second job may not start; Bob's, behind it, takes the free core and not only what backfill leaves."""
    ada, bob = {"user": "ada"}, {"user": "bob"}
    what = log((0, 4000, 1, ada), (1, 4000, 1, ada), (2, 9000, 1, bob))
    assert same(starts(machine(2), what, "user:*.MaxJobs=1"), [0, 4000, 0])
    assert same(starts(machine(2), what), [0, 0, 4000])


def test_limits_of_a_platform_file_hold_now_and_a_change_replaces_them():
    limited = machine(limits={"account:physics": {"GrpTRES": "cpu=1,mem=100G"}})
    assert same(starts(limited, log(*FOUR)), [0, 4000, 8000, 12000])
    assert same(starts(limited, log(*FOUR), "account:physics.GrpTRES=cpu=2"), [0, 0, 4000, 4000])
    assert same(starts(limited, log(*FOUR), "account:physics.GrpTRES=cpu=-1"), [0, 0, 0, 0])


def test_the_limits_of_an_account_are_those_of_the_accounts_below_it_too():
    physics = [(0, 4000, 1, {"account": "physics"}), (0, 4000, 1, {"account": "biology"})]
    tree = {"physics": "science", "science": "root", "biology": "science"}
    what = log(*physics, *physics)
    assert same(starts(machine(accounts=tree), what), [0, 0, 0, 0])
    limits = {"account:science": {"GrpTRES": "cpu=3"}, "account:nobody": {"GrpJobs": 1}}
    assert same(starts(machine(accounts=tree, limits=limits), what), [0, 0, 0, 4000])
    assert same(starts(machine(accounts=tree), what, "account:science.GrpJobs=2"), [0, 0, 4000, 4000])
    with pytest.raises(HDeepRMError, match="no job of the log has it"):
        starts(machine(accounts=tree), what, "account:nobody.GrpJobs=1")


def test_an_association_is_a_user_of_an_account():
    rows = [(0, 4000, 1, {"user": user, "account": account}) for user, account in (("a", "x"), ("a", "y"), ("b", "x"))]
    assert same(starts(machine(6), log(*rows, *rows), "association:x/a.MaxJobs=1"), [0, 0, 0, 4000, 0, 0])


def test_where_a_qos_has_a_limit_that_of_an_association_counts_its_jobs_and_does_not_hold_them():
    high, normal = {"user": "ada", "account": "x", "qos": "high"}, {"user": "ada", "account": "x", "qos": "normal"}
    what = log((0, 4000, 1, high), (0, 4000, 1, high), (1, 4000, 1, normal))
    one = {"account:x": {"GrpTRES": "cpu=1"}}
    assert same(starts(machine(limits=one), what), [0, 4000, 8000])
    assert same(starts(machine(limits=one | {"qos:high": {"GrpTRES": "cpu=2"}}), what), [0, 0, 4000])
    assert same(starts(machine(limits=one | {"qos:high": {"GrpTRES": "mem=1T"}}), what), [0, 4000, 8000])


def test_a_job_that_asks_for_more_than_one_may_have_never_runs():
    what = log((0, 4000, 1, {"user": "ada"}), (0, 4000, 3, {"user": "ada"}), (1, 4000, 3, {"user": "bob"}))
    assert same(starts(machine(), what, "user:ada.MaxTRES=cpu=2"), [0, np.nan, 0])


def test_before_a_maintenance_only_jobs_that_end_in_time_start():
    """From 5000 to 9000 s nobody has a node. What lasts 4000 s is over before, what lasts 6000 s waits until then."""
    what = log((0, 4000, 1), (0, 6000, 1), (6000, 100, 1))
    assert same(starts(machine(), what, "maint:all=1:23:20/2:30:00"), [0, 9000, 9000])
    assert same(starts(machine(), what), [0, 0, 6000])


def test_jobs_of_open_nodes_start_beside_a_maintenance():
    """Two nodes of four are out from 600 to 3600 s: what needs all of them waits, what needs two does not.

    The job of debug ends in time, so it starts at once; that on all nodes starts when the second one ends, at 6001 s.
    """
    what = log((0, 6000, 4), (1, 6000, 2), (2, 100, 1, {"partition": "debug"}))
    assert same(starts(machine(), what, "maint:debug=0:10:00/1:00:00"), [6001, 1, 2])


def test_drained_nodes_finish_their_jobs_and_take_no_others():
    """At 1000 s two of two nodes are drained until 20000 s: what runs ends, what comes waits; nobody knew before."""
    what = log((0, 5000, 1), (0, 5000, 1), (2000, 100, 1))
    assert same(starts(machine(2), what, "drain:all=0:16:40/5:33:20"), [0, 0, 20000])
    assert same(starts(machine(2), what, "drain:1=0:16:40/5:33:20"), [0, 0, 5000])
    rarely = machine(2, SchedulerParameters={"bf_interval": 9000.0}, backfill_phase=9000.0)  # backfill looks
    assert same(starts(rarely, what, "drain:1=0:16:40/5:33:20"), [0, 0, 5000])


def test_dates_of_a_window_are_those_of_the_log():
    epoch = 1772409600.0  # 2026-03-02T00:00Z
    what = log((0, 6000, 1), epoch=epoch)
    assert same(starts(machine(), what, "maint:all=2026-03-02T01:00/2026-03-02T03:00"), [10800])
    assert same(starts(machine(), what, "maint:all=2026-03-02T03:00+02:00/2026-03-02T05:00+02:00"), [10800])


def test_under_a_shorter_time_limit_jobs_ask_for_it_and_those_that_ran_longer_are_killed():
    """The first job holds all cores and is killed after an hour; batch has nothing to do with debug."""
    what = log((0, 9000, 4, {"estimate": 10000}), (1, 500, 4, {"estimate": 7200}))
    one = simulate(machine(), what, SLURM, change_named("partition:batch.MaxTime=1:00:00"))
    assert same(one.start, [0, 3600])
    assert one.finish[0] == 3600.0
    assert one.notes == (
        "change 'partition:batch.MaxTime=1:00:00': 2 jobs ask for another time; 1 of them are killed by their limit",
    )
    assert same(starts(machine(), what, "partition:debug.MaxTime=1:00:00"), [0, 9000])


def test_another_default_time_is_that_of_the_jobs_that_have_it_now():
    """The second job has the default of an hour and cannot be backfilled; with half an hour it can."""
    what = log((0, 3000, 3), (1, 2000, 4), (2, 1000, 1, {"estimate": 3600}), (2, 1000, 1, {"estimate": 3601}))
    assert same(starts(machine(), what), [0, 3000, 5000, 5000])
    assert same(starts(machine(), what, "partition:batch.DefaultTime=30"), [0, 3000, 2, 5000])


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, 4000), ("requests=exact", 2), ("requests=-50%", 2), ("requests=+50%", 4000), ("requests=x2", 2)],
)
def test_who_asks_for_less_time_is_backfilled(text, expected):
    """A hole of 3000 s; the last job runs for 1400 and asks for 3200."""
    what = log((0, 3000, 3), (1, 1000, 4), (2, 1400, 1, {"estimate": 3200}))
    found = starts(machine(), what, text)
    assert same(found[2:], [expected])


@pytest.mark.parametrize(("text", "first"), [(None, 1), ("PriorityWeightJobSize=100000", 2)])
def test_weights_of_priorities_are_changed(text, first):
    """Behind a job on all cores wait one of one core and then one of four, which the weight of the size puts first."""
    what = log((0, 3000, 4), (1, 1000, 1), (2, 1000, 4))
    found = starts(machine(PriorityWeightAge=1000), what, text)
    assert int(np.argmin(found[1:])) + 1 == first


def test_a_partition_of_a_higher_tier_comes_first():
    """Two jobs on all cores wait behind another one."""
    what = log((0, 3000, 4), (1, 1000, 4), (2, 1000, 2, {"partition": "debug"}))
    assert same(starts(machine(), what), [0, 3000, 4000])
    assert same(starts(machine(), what, "partition:debug.PriorityTier=9"), [0, 4000, 3000])


def test_a_partition_gives_whole_nodes():
    """The partition has two nodes; of nodes of two cores each job of one core takes a whole one."""
    what = log(*[(0, 3000, 1)] * 4)
    two = with_nodes(pool(2), np.zeros(2, np.int64))
    two = replace(two, partitions=machine(2).partitions)
    assert same(starts(two, what), [0, 0, 0, 0])
    assert same(starts(two, what, "partition:batch.OverSubscribe=EXCLUSIVE"), [0, 0, 3000, 3000])


def test_parameters_of_the_scheduler_are_changed_and_the_others_stay():
    where = machine(SchedulerParameters={"bf_interval": 30, "bf_window": 100})
    for text in ("SchedulerParameters=bf_interval=600,sched_interval=300", "bf_interval=600; sched_interval=300"):
        changed, _ = prepared(where, log(*FOUR), SLURM, change_named(text))
        assert changed.partitions.settings["SchedulerParameters"] == {
            **{"bf_interval": 600.0, "bf_window": 100, "sched_interval": 300.0}
        }


def test_backfill_that_looks_seldom_starts_jobs_later():
    """A hole behind the first jobs, found by backfill alone; it looks each 30 s, or each 2000 s."""
    what = log((0, 6000, 3), (1, 1000, 4), (40, 1000, 1))
    assert starts(machine(), what)[2] <= 100
    assert starts(machine(), what, "bf_interval=2000")[2] >= 1000


def test_shares_and_ranks_are_changed():
    what = log((0, 3000, 4), (1, 1000, 4, {"qos": "low"}), (2, 1000, 4, {"qos": "high"}))
    where = machine(PriorityWeightQOS=100000)
    assert same(starts(where, what, "qos:low.Priority=1; qos:high.Priority=100"), [0, 4000, 3000])
    known, _ = prepared(where, log(*FOUR), SLURM, change_named("account:physics.Fairshare=4"))
    assert known.partitions.settings["shares"] == {"physics": 4.0}


def test_a_power_cap_bounds_the_cores_that_are_in_use():
    """Of four cores at most three may be in use under 9/10 of the power; without Slurm, too."""
    assert same(starts(machine(), log(*FOUR), "power=-10%"), [0, 0, 0, 4000])
    four = pool(4)
    what = replace(log(*FOUR), jobs=replace(log(*FOUR).jobs, demands=None))
    found = simulate(four, what, baseline("fcfs+easy"), change_named("power=-10%")).start
    assert found.tolist() == [0.0, 0.0, 0.0, 4000.0]


def test_every_parameter_that_the_model_reads_can_be_changed():
    assert set(MODELLED) == set(PARAMETERS)
    for key in (*PARAMETERS, "PriorityWeightAge", "PriorityWeightQOS"):
        assert change_named(f"{key}=7").needs_slurm
    assert change_named("PriorityFavorSmall=yes; priorityweighttres=cpu=5,Mem=2").settings == {
        **{"PriorityFavorSmall": "YES", "PriorityWeightTRES": {"cpu": 5.0, "mem": 2.0}}
    }
    assert set(SETTINGS) & set(OF) == set()


@pytest.mark.parametrize(
    ("text", "told"),
    [("90", 5400), ("90:30", 5430), ("1:30:00", 5400), ("1-12", 129600), ("1-12:30", 131400), ("2-0:0:5", 172805)],
)
def test_times_are_those_of_slurm(text, told):
    assert seconds(text) == told


def test_memories_are_counted_as_those_of_the_jobs():
    assert amounts("mem=100G,cpu=4") == {"mem": 100 * 1.024 * 1024, "cpu": 4.0}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SchedulerParameters==bf_interval", "one = too many; write SchedulerParameters=bf_interval"),
        ("SchedulerParameters=bf_intervall=60", "none of those that can be changed; did you mean 'bf_interval'?"),
        ("SchedulerParameters=bf_continue", "'bf_continue' is no parameter with a value"),
        ("bf_windw=60", "did you mean 'bf_window'?"),
        ("PriorityWeigthAge=60", "did you mean 'PriorityWeightAge'?"),
        ("PriorityWeightAge=many", "is 'many'; a number from 0 to 1e+12 is needed"),
        ("PriorityWeightAge=-5", "a number from 0 to 1e+12 is needed"),
        ("PriorityWeightAge=nan", "a number from 0 to 1e+12 is needed"),
        ("PriorityMaxAge=soon", "a time as 90 (minutes)"),
        ("PreemptParameters=youngest_first", "PreemptType, PreemptMode and PreemptExemptTime are modelled"),
        ("PreemptExemptTime=soon", "a time as 90"),
        ("partition:debug.MaxTim=5", "did you mean 'MaxTime'?"),
        ("partition:debug.MaxTime=0", "more than 0"),
        ("partition:debug=5", "a name and a key as partition:debug.MaxTime=... are needed"),
        ("partitoin:debug.MaxTime=5", "did you mean 'partition'?"),
        ("account:physics.GrpTRES=64", "names and amounts as cpu=64,gres/gpu=8 are needed"),
        ("account:physics.GrpTRES=cpus=64", "did you mean 'cpu'?"),
        ("user:ada.MaxJobs=few", "a number of jobs, or -1 for no limit, is needed"),
        ("maint:all=tomorrow/1-00", "'tomorrow' is no date"),
        ("maint:all=2-00/1-00", "the earlier one first"),
        ("maint:all=2026-03-02T08:00", "two dates as"),
        ("maint:=1-00/2-00", "nodes are needed"),
        ("requests=more", "is none of requests=+50%"),
        ("requests=-100%", "is none of requests=+50%"),
        ("power=5", "power=40kW"),
        ("bf_interval", "KEY=VALUE is needed"),
        ("nodes=+10%; bf_intervl=3", "did you mean 'bf_interval'?"),
    ],
)
def test_mistakes_are_refused_in_one_line_that_names_the_nearest_key(text, told):
    with pytest.raises(OptionsError) as error:
        change_named(text)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("partition:debugg.MaxTime=5", "did you mean 'debug'?"),
        ("partition:debugg.PriorityTier=5", "did you mean 'debug'?"),
        ("maint:debugg=0:10:00/2-00", "did you mean 'debug'?"),
        ("maint:9=0:10:00/2-00", "the machine has 4 nodes, not 9"),
        ("drain:0=0:10:00/2-00", "the machine has 4 nodes, not 0"),
        ("maint:all=2026-03-02T08:00/2026-03-02T09:00", "the log has no dates"),
        ("maint:all=1-00/2-00", "lies outside the log, whose last job may end 0.0 days after its first one came"),
        ("user:adda.MaxJobs=5", "no job of the log has it; did you mean 'ada'?"),
        ("account:phys.Fairshare=5", "did you mean 'physics'?"),
        ("partition:debug.DefaultTime=5", "which jobs have it is not known"),
        ("power=1W", "leaves no core"),
    ],
)
def test_names_that_there_are_not_are_refused_before_anything_is_simulated(text, told):
    what = log(*FOUR, (0, 10, 1, {"partition": "debug"}))
    with pytest.raises(HDeepRMError) as error:
        prepared(machine(), what, SLURM, change_named(text))
    assert told in str(error.value)


def test_the_command_takes_changes_of_a_pool_of_cores(tmp_path):
    path = tmp_path / "jobs.swf"
    path.write_text("".join(f"{n} 0 0 5000 1 -1 -1 1 6000 -1 1 1 1 -1 -1 -1 -1 -1\n" for n in range(1, 5)))
    words = ["whatif", "--jobs", path, "--cores", "4", "-o", tmp_path / "out", "--change", "user:*.MaxJobs=2"]
    assert "multifactor+slurm, user:*.MaxJobs=2" in printed(*words, "--change", "maint:all=0:10:00/2:00:00")
    assert load_log(path, pool(4)).words["User"] == ["1"] * 4


def test_a_job_without_a_time_limit_gets_that_of_its_partition(tmp_path):
    """The last names no partition, so it is in the default one, whose MaxTime counts, as it has no DefaultTime."""
    times = {"batch": {"MaxTime": 700.0, "DefaultTime": None}, "debug": {"MaxTime": 900.0, "DefaultTime": 300.0}}
    known = machine(partition_times=times)
    path = tmp_path / "jobs.swf"
    lines = [(1, 10, -1), (2, 10, -1), (1, 800, -1), (2, 10, 50), (-1, 10, -1)]  # partition, run and requested time
    path.write_text(
        "; Partition: 1 batch\n; Partition: 2 debug\n"
        + "".join(
            f"{n} {n} -1 {run} 1 -1 -1 1 {asked} -1 1 1 1 -1 1 {one} -1 -1\n"
            for n, (one, run, asked) in enumerate(lines)
        )
    )
    found = load_log(path, known)
    assert found.jobs.requested_time.tolist() == [700.0, 300.0, 800.0, 50.0, 700.0]
    assert "changed: 4 that request no time have the limit of their partition" in found.notes[0]
    assert load_log(path, pool(4)).jobs.requested_time.tolist() == [10.0, 10.0, 800.0, 50.0, 10.0]
