"""Logs of PBS, Torque, LSF, Kueue and Volcano: records of a few jobs whose values are known."""

import json
from pathlib import Path

import numpy as np
import pytest
from logs import figures, written

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import HDeepRMError
from hdeeprm_like.importers.column_maps import read_map
from hdeeprm_like.importers.line_forms import requested
from hdeeprm_like.importers.table import read_table

T = 1772439000  # 2026-03-02T08:10Z

GOLDEN = Path(__file__).parent.parent / "golden" / "logs"
PBS = (GOLDEN / "pbs.txt").read_text()  # a job of PBS, a task of Torque, and other records
LSF = (GOLDEN / "lsb.acct").read_text()  # four jobs, one of which never started, an event, and a record that is cut off


def read(folder, text, map_name, name="log"):
    path = folder / name
    path.write_text(text)
    return written(read_table(path, read_map(map_name), Account(str(path), form="log")), path)


def test_the_accounting_of_pbs_and_of_torque(tmp_path):
    trace, extra, report = read(tmp_path, PBS, "pbs")
    # Torque's comes first: the other was eligible a minute after it came
    assert figures(trace, "submit", "wait", "run", "requested_time") == ([0, 50], [10, 60], [300, 3600], [300, 7200])
    assert figures(trace, "requested_processors", "status") == ([20, 16], [5, 1])  # 2 x 8 and 1 x 4
    assert figures(trace, "requested_memory", "memory") == ([-1, 32 * 1024**2 / 16], [-1, 16 * 1024**2 / 16])
    columns = ("JobID", "User", "Account", "Partition", "State", "Nodes", "GPUs")
    assert [tuple(one[name] for name in columns) for one in extra] == [
        ("", "bob", "chem", "long", "CANCELLED", "", "2"),
        ("12", "ada", "physics", "batch", "COMPLETED", "2", "4"),
    ]
    assert dict(report.counts("left out")) == {"lines that are no record of PBS": 1}
    assert "1 lines that are no record of PBS; lines 6\n" in report.text()
    assert report.used + report.left_out == report.jobs == 3


@pytest.mark.parametrize(
    ("settings", "cpus"),
    [
        ("Resource_List.ncpus=1 Resource_List.nodes=2:ppn=8", 16),  # a server's default beside the request
        ("Resource_List.ncpus=1 Resource_List.nodes=1:big:ppn=8+2:ppn=4", 16),
        ("Resource_List.ncpus=1 Resource_List.nodes=2 exec_host=n1/0-7+n2/0,2", 10),
        ("Resource_List.ncpus=1 exec_host=n1/3+n1/2+n1/1+n1/0", 4),
        ("Resource_List.ncpus=16 Resource_List.nodect=2 exec_host=n1/0*8+n2/0*8", 16),  # PBS Professional
        ("Resource_List.ncpus=16 exec_host=n1/0+n2/0", 16),
        ("Resource_List.ncpus=1 Resource_List.nodes=1 exec_host=n1/0", 1),
        ("Resource_List.nodes=3", 3),
    ],
)
def test_the_default_number_of_cpus_of_torque_is_no_request(tmp_path, settings, cpus):
    line = (
        f"03/02/2026 08:10:00;E;1.s;user=u queue=q ctime={T} qtime={T} etime={T} start={T} end={T + 60} Exit_status=0"
    )
    trace, _, _ = read(tmp_path, f"{line} {settings}\n", "pbs")
    assert trace.requested_processors.tolist() == [cpus]


def test_init_containers_count_where_they_need_more_than_the_others_together():
    def asks(cpu, **more):
        return {"resources": {"requests": {"cpu": cpu, "memory": "1Mi"}}} | more

    pod = {"containers": [asks("2"), asks("500m")]}
    assert requested(pod)["cpu"] == 2.5
    assert requested(pod | {"initContainers": [asks("1"), asks("2")]})["cpu"] == 2.5  # one after the other
    assert requested(pod | {"initContainers": [asks("4")]})["cpu"] == 4.0
    sidecar = asks("1", restartPolicy="Always")
    assert requested(pod | {"initContainers": [sidecar, asks("4")]})["cpu"] == 5.0  # it runs beside what comes later
    assert requested(pod | {"initContainers": [sidecar]})["memory"] == 3 * 2**20


OTHERS = {
    "gridengine": (
        "# Version: 8\n"
        f"all.q:n1:u:ada:sim:7:sge:0:{T}:{T + 60}:{T + 660}:0:0:600:1:1{':0' * 15}:phys:dep:mpi:16:0:9000:1:0:-l x\n"
        f"all.q:n1:users:bob:sim:8:sge:0:{T}:0:0:1:0:0:1:1{':0' * 15}:NONE:dep:NONE:1:3:0:0:0\n"
    ),
    "oar": (
        "job_id,submission_time,start_time,stop_time,moldable_walltime,cores,nodes,state,job_user,project,queue_name,"
        "job_name\n"
        f"7,{T},{T + 60},{T + 660},3600,16,2,Terminated,ada,phys,a,sim\n8,{T},0,0,3600,16,2,Error,bob,phys,a,sim\n"
    ),
    "cobalt": (
        "JOB_NAME,COBALT_JOBID,QUEUED_TIMESTAMP,START_TIMESTAMP,END_TIMESTAMP,USERNAME_GENID,PROJECT_NAME_GENID,QUEUE_NAME,"
        "WALLTIME_SECONDS,RUNTIME_SECONDS,NODES_USED,CORES_USED,CORES_REQUESTED\n"
        "sim,7,2026-03-02 08:10:00,2026-03-02 08:11:00,2026-03-02 08:21:00,ada,phys,all.q,3600.0,600.0,2.0,16.0,16.0\n"
    ),
    "htcondor": (
        "ClusterId,QDate,JobCurrentStartDate,CompletionDate,RequestCpus,RequestMemory,RequestGpus,JobStatus,Owner,AcctGroup\n"
        f"7,{T},{T + 60},{T + 660},16,2048,2,4,ada,phys\n8,{T},undefined,0,16,2048,2,3,bob,phys\n"
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_maps_of_other_systems_find_the_one_job_that_ran(tmp_path, name):
    trace, extra, report = read(tmp_path, OTHERS[name], name)
    assert (trace.wait.tolist(), trace.run.tolist()) == ([60], [600])
    assert np.maximum(trace.processors, trace.requested_processors).tolist() == [16]
    assert (extra[0]["JobID"], extra[0]["User"], extra[0]["Account"]) == ("7", "ada", "phys")
    assert report.used == 1


@pytest.mark.parametrize(("name", "nothing"), [("gridengine", "NONE"), ("htcondor", "undefined")])
def test_the_words_of_other_systems_for_nothing_are_no_names_or_dates(tmp_path, name, nothing):
    _, extra, report = read(tmp_path, OTHERS[name].replace("phys", nothing), name)
    assert extra[0]["Account"] == ""
    assert report.counts("changed") == {}


def test_a_map_reads_memory_by_node_or_cpu_and_gpus_in_lists(tmp_path):
    (tmp_path / "own.toml").write_text(
        'clock = "seconds"\n[columns]\nsubmit = "s"\nrun = "r"\ncpus = "c"\nnodes = "n"\ngpus = "tres"\nmemory = "m"\n'
        'memory_of_node = "mn"\nmemory_of_cpu = "mc"\n[units]\nmemory = "MB"\nmemory_of_node = "MB"\n'
        'memory_of_cpu = "MB"\n'
    )
    lines = ["s,r,c,n,tres,m,mn,mc", "0,9,4,2,cpu=4,,800,", '1,9,4,2,"gres/gpu:a100=2,cpu=4",,,100']
    lines += ["2,9,4,2,3,400,,", "3,9,4,2,,2147483748,,", ""]
    trace, extra, _ = read(tmp_path, "\n".join(lines), str(tmp_path / "own.toml"))
    assert (trace.requested_memory / 1024).tolist() == [400, 100, 100, 100]  # MB for each CPU; the last is flagged
    assert [one["GPUs"] for one in extra] == ["0", "2", "3", ""]


def test_lsb_acct_of_lsf_nine_and_ten(tmp_path):
    trace, extra, report = read(tmp_path, LSF, "lsf")
    assert figures(trace, "submit", "wait", "run") == ([0, 0, 4], [100, 50, 5], [600, 40, 3])
    assert figures(trace, "requested_time", "processors") == ([3600, 1800, -1], [4, 4, 1])
    assert figures(trace, "requested_processors", "memory", "status") == ([4] * 3, [2000, 2000, 8000], [1, 0, 1])
    # a task of an array has no number of its own here
    told = [(one["JobID"], one["Account"], one["QOS"], one["Nodes"]) for one in extra]
    assert told == [(job, "physics", "gold", nodes) for job, nodes in (("7", "2"), ("", "1"), ("10", "1"))]
    assert dict(report.counts("left out")) == {
        "that ended before they began, as those cancelled while waiting": 1,
        "records JOB_FINISH that are cut off, or have a form that is not known": 1,
    }


def date(after):
    return f"{np.datetime64(T + after, 's')}Z"


def workloads():
    """A finished workload of Kueue, one that runs, a job of Volcano, and something else."""
    container = {"resources": {"requests": {"cpu": "1500m", "memory": "2Gi"}, "limits": {"nvidia.com/gpu": "1"}}}
    template = {"spec": {"containers": [container]}}
    kueue = {
        "metadata": {"name": "train", "namespace": "ada", "creationTimestamp": date(0)},
        "spec": {
            **{"queueName": "research", "maximumExecutionTimeSeconds": 7200},
            "podSets": [{"count": 4, "template": template}],
        },
        "status": {
            "conditions": [
                {"type": "QuotaReserved", "status": "True", "lastTransitionTime": date(50)},
                {"type": "Admitted", "status": "True", "lastTransitionTime": date(60)},
                {"type": "Finished", "status": "True", "reason": "Succeeded", "lastTransitionTime": date(660)},
            ]
        },
    }
    runs = {**kueue, "status": {"conditions": kueue["status"]["conditions"][:2]}}
    volcano = {
        "metadata": {"name": "mpi", "namespace": "bob", "creationTimestamp": date(10)},
        "spec": {"queue": "default", "tasks": [{"replicas": 2, "template": template}]},
        "status": {
            "conditions": [
                {"status": "Pending", "lastTransitionTime": date(11)},
                {"status": "Running", "lastTransitionTime": date(30)},
                {"status": "Failed", "lastTransitionTime": date(90)},
            ]
        },
    }
    return json.dumps({"items": [kueue, runs, volcano, {"kind": "Pod", "metadata": {}, "spec": {}}]})


def test_workloads_of_kueue_and_jobs_of_volcano(tmp_path):
    trace, extra, report = read(tmp_path, workloads(), "kueue")
    assert figures(trace, "wait", "run", "requested_time") == ([60, 20], [600, 60], [7200, -1])
    assert figures(trace, "requested_processors", "status") == ([6, 3], [1, 0])
    assert trace.requested_memory.tolist() == [4 * 2 * 1024**2 // 6, 2 * 2 * 1024**2 // 3]
    assert [(one["User"], one["Partition"], one["GPUs"]) for one in extra] == [
        *[("ada", "research", "4"), ("bob", "default", "2")]
    ]
    assert dict(report.counts("left out")) == {
        "items that are no workload of Kueue or job of Volcano": 1,
        "still waiting or running when the log was taken": 1,
    }


def test_a_form_that_is_not_known_is_refused(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('form = "pbss"\n[columns]\nsubmit = "a"\nend = "b"\ncpus = "c"\n')
    with pytest.raises(HDeepRMError, match="did you mean 'pbs'"):
        read_map(str(path))
