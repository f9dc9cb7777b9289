"""Slurm's accounting: what a real Slurm printed, and each form that its values may have."""

import bz2
import gzip
import lzma
import shutil

import numpy as np
import pytest
from logs import RECORDED, USUAL, imported, log, misread

from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.importers.jobs import JOB

DAY = 86400
NEVER = "that ended before they began, as those cancelled while waiting"
LIVE = "still waiting or running when the log was taken"
ALIKE = ("submit", "wait", "run", "processors", "requested_processors", "requested_memory", "status")


@pytest.fixture
def recorded(tmp_path):
    """Import a copy of a recording; a dictionary of rows by JobID comes with it."""

    def read(name, **how):
        trace, extra, report = imported(shutil.copy(RECORDED / name, tmp_path / name), **how)
        rows = {one["JobID"]: row for row, one in enumerate(extra)}
        return trace, extra, report, rows

    return read


# -- a real Slurm 22.05


def test_a_recording_gives_the_jobs_that_were_submitted(recorded):
    trace, extra, report, rows = recorded("sacct.txt")
    assert len(trace) == report.used == 104
    assert report.used + report.left_out == report.jobs == 106
    plain = rows["1"]  # sbatch -n 4 -t 5 --mem-per-cpu=280M --wrap "sleep 20; srun sleep 3"
    assert (trace.submit[plain], trace.wait[plain], trace.run[plain]) == (0, 0, 24)
    assert (trace.processors[plain], trace.requested_processors[plain], trace.requested_time[plain]) == (4, 4, 300)
    assert trace.requested_memory[plain] == 280 * 1024
    assert extra[plain]["User"] == "games"
    assert trace.status[rows["22"]] == 0  # exit 3
    assert trace.status[rows["43"]] == 5  # scancel
    assert trace.requested_time[rows["34"]] == -1  # -t UNLIMITED
    assert trace.requested_time[rows["18"]] == 2 * DAY
    assert trace.run[rows["23"]] == 0  # true
    assert (trace.processors[rows["16"]], trace.requested_processors[rows["16"]]) == (16, 2)  # --exclusive -N 2


def test_arrays_and_heterogeneous_jobs_of_a_recording_are_jobs_of_their_own(recorded):
    trace, extra, _, rows = recorded("sacct.txt")
    assert {f"2_{task}" for task in range(1, 7)} | {f"3_{task}" for task in (3, 7, 20, 25, 30)} <= set(rows)
    leader, other = rows["10+0"], rows["10+1"]
    assert trace.processors[[leader, other]].tolist() == [4, 1]
    assert (extra[leader]["GPUs"], extra[other]["GPUs"], extra[other]["GRES"]) == ("0", "1", "gpu:a100:1")
    assert (extra[leader]["Partition"], extra[other]["Partition"]) == ("batch", "gpu")


def test_gpus_and_constraints_of_a_recording_are_kept_beside_the_trace(recorded):
    _, extra, _, rows = recorded("sacct.txt")
    assert [extra[rows[job]]["GRES"] for job in ("12", "13", "14")] == ["gpu:a100:1", "gpu:a100:2", "gpu:t4:2"]
    assert extra[rows["15"]]["Constraints"] == "milan&ib"


def test_held_dependent_and_later_jobs_of_a_recording_arrive_when_they_may_start(recorded):
    trace, extra, _, rows = recorded("sacct.txt")
    begin = int(extra[0]["Submitted"])
    for job, moment in {"24": 24, "26": 45, "27": 53, "28_0": 85}.items():  # -d afterok, -b now+45, -H, -H with --array
        row = rows[job]
        assert int(extra[row]["Submitted"]) - begin <= 1
        assert trace.submit[row] == moment
        assert trace.wait[row] <= 1
    trace, _, _, rows = recorded("sacct.txt", arrival="submit")
    assert (trace.submit[rows["24"]], trace.wait[rows["24"]]) == (0, 24)


@pytest.mark.parametrize(
    ("name", "how", "reason", "left_out"),
    [
        # sacct -D, which prints all runs of a requeued job
        ("sacct-all-columns.txt", {}, "earlier runs of jobs that were requeued", 4),
        # sacct -P without -X, in Madrid, its columns in another order and names first
        ("sacct-steps-madrid.txt", {"zone": "Europe/Madrid"}, "steps of jobs", 111),
    ],
)
def test_a_recording_of_the_same_jobs_in_another_form_gives_the_same_jobs(recorded, name, how, reason, left_out):
    plain, own, _, _ = recorded("sacct.txt")
    trace, extra, report, _ = recorded(name, **how)
    for column in (*ALIKE, "requested_time"):
        assert getattr(trace, column).tolist() == getattr(plain, column).tolist(), column
    assert extra[0]["Submitted"] == own[0]["Submitted"]
    assert report.counts("left out")[reason] == left_out
    assert report.used + report.left_out == report.jobs
    assert misread(report) == {}


def test_another_separator_and_raw_columns_of_a_recording_give_the_same_jobs(recorded):
    plain, _, _, _ = recorded("sacct.txt")
    trace, _, report, _ = recorded("sacct-semicolons.txt", separator=";")
    assert sorted(trace.run.tolist()) == sorted(plain.run.tolist())
    assert sorted(trace.requested_time.tolist()) == sorted(plain.requested_time.tolist())
    assert misread(report) == {}


def test_in_no_moment_of_a_recording_were_more_cpus_in_use_than_there_are(recorded):
    trace, _, _, _ = recorded("sacct.txt")
    assert "MaxProcs: 64" in trace.header  # of 96


# -- each form by itself


FORMS = {  # of a value of the log, and what becomes of it, by the columns of the log and of the files
    ("ReqMem", "requested_memory"): {  # KB for each CPU of a job of 4 CPUs on 2 nodes
        **{"2800Mc": 2800 * 1024, "4Gn": 2 * 1024**2, "187000M": 187000 * 256, "12.50G": 3.125 * 1024**2},
        **{"12,50G": 3.125 * 1024**2, "1T": 1024**3 / 4, "512K": 128, "4000": 1024000},
        **{"0n": 2867200, "": 2867200},  # all of the node: what was given is known
    },
    ("Timelimit", "requested_time"): {
        **{"01:00:00": 3600, "2-03:04:05": 2 * DAY + 3 * 3600 + 4 * 60 + 5, "UNLIMITED": -1, "Partition_Limit": -1},
        **{"": -1, "30:00": 1800, "90": 5400},
    },
    ("State", "status"): {
        **{"COMPLETED": 1, "CD": 1, "CANCELLED by 1000": 5, "CANCELLED": 5, "CANCELLED+": 5},
        **dict.fromkeys(("FAILED", "TIMEOUT", "OUT_OF_MEMORY", "OUT_OF_ME+", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL"), 0),
    },
    ("AllocTRES", "GRES"): {
        "cpu=4,gres/gpu:a100=3,gres/gpu=3,mem=1G": "gpu:a100:3",
        "cpu=4,gres/gpu=2": "gpu:2",
        "cpu=4,gres/gpu:a100=1,gres/gpu:t4=2": "gpu:a100:1,gpu:t4:2",
        "cpu=4,mem=1G,node=1": "",
    },
    ("AllocTRES", "GPUs"): {"gres/gpu:a100=3,gres/gpu=3": "3", "gres/gpu:a100=1,gres/gpu:t4=2": "3", "cpu=4": "0"},
    # of an old Slurm
    ("AllocGRES", "GPUs"): {"gpu:2": "2", "gpu:v100:4": "4", "7696487:2": "2", "gpu:k80:2(S:0)": "2"},
    ("Eligible", "wait"): {  # submitted at 10:00, begun at 10:01: the job arrives when it may start, but not after that
        f"2024-01-10T{time}": wait
        for time, wait in (("10:00:00", 60), ("10:00:40", 20), ("10:01:00", 0), ("10:01:30", 60), ("09:59:00", 60))
    },
}


@pytest.mark.parametrize(("asked", "found"), FORMS)
def test_each_form_of_a_value_is_read(tmp_path, asked, found):
    for text, wanted in FORMS[asked, found].items():
        columns = [name for name in (*USUAL, "AllocGRES") if asked != "AllocGRES" or name != "AllocTRES"]
        trace, extra, report = imported(log(tmp_path, {asked: text}, columns=columns))
        assert (extra[0][found] if found in extra[0] else getattr(trace, found)[0]) == wanted, text
        assert misread(report) == {}, text


@pytest.mark.parametrize(
    ("rows", "found", "wanted"),
    [
        ([{"Start": "2024-01-10T10:03:00", "Elapsed": "00:00:00", "State": "FAILED"}], "run", [0]),
        ([{}, {"User": "bob", "Start": "2024-01-10T12:00:00"}], "processors", [4, 4]),  # two jobs of one number
        # the memory of a job is that of all CPUs that it got
        ([{"NCPUS": "8", "ReqCPUS": "2", "ReqMem": "8G", "NNodes": "1"}], "requested_memory", [1024**2]),
    ],
)
def test_a_log_of_few_lines(tmp_path, rows, found, wanted):
    assert getattr(imported(log(tmp_path, *rows))[0], found).tolist() == wanted


@pytest.mark.parametrize(
    "changed",
    [
        *(lambda text, end=end: text.replace(b"\n", end) for end in (b"\r\n", b"|\n", b"|\r\n")),
        *(gzip.compress, bz2.compress, lzma.compress),  # whatever the name says
        *(lambda text, to=to: text.decode().encode(to) for to in ("utf-16", "utf-8-sig", "latin-1")),
    ],
)
def test_a_log_is_read_whatever_its_line_ends_packing_and_encoding(tmp_path, changed):
    path = log(tmp_path, {"User": "zo\u00eb"}, {"JobID": "2"})
    path.write_bytes(changed(path.read_bytes()))
    trace, _, report = imported(path)
    assert trace.requested_memory.tolist() == [2867200, 2867200]
    assert misread(report) == {}


def test_a_limit_can_be_told_for_jobs_without_one(tmp_path):
    other = {"JobID": "2", "Timelimit": "Partition_Limit", "Partition": "long"}
    path = log(tmp_path, {"Timelimit": "UNLIMITED"}, other)
    trace, _, _ = imported(path, limit=60.0, limits=(("long", 90.0),))
    assert trace.requested_time.tolist() == [60, 90]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"State": "PENDING", "Start": "Unknown", "End": "Unknown", "Elapsed": "00:00:00", "JobID": "7_[1-5%2]"}, LIVE),
        ({"State": "RUNNING", "End": "Unknown"}, LIVE),
        ({"State": "CANCELLED by 0", "Start": "None", "Elapsed": "00:00:00", "AllocTRES": ""}, NEVER),
        ({"State": "CANCELLED by 0", "Start": "Unknown", "End": "2024-01-10T10:05:00", "Elapsed": "00:00:00"}, NEVER),
        ({"State": "CANCELLED by 5", "Start": "2024-01-10T10:03:00", "Elapsed": "00:00:00"}, NEVER),  # an old Slurm
        ({"State": "FAILED", "Start": "2024-01-10T10:03:00", "Elapsed": "00:00:00", "AllocTRES": ""}, NEVER),
        ({"JobID": "1.batch"}, "steps of jobs"),
        ({"JobID": "1_3.extern"}, "steps of jobs"),
        ({"JobID": "1+1.0"}, "steps of jobs"),
        ({"Submit": "Unknown", "Eligible": "Unknown"}, "without a time of submission"),
        ({"NCPUS": "0", "ReqCPUS": "0", "AllocTRES": "mem=1G"}, "without a number of CPUs"),
    ],
)
def test_what_did_not_run_is_left_out_and_told(tmp_path, row, reason):
    trace, _, report = imported(log(tmp_path, row, {"JobID": "2"}))
    assert len(trace) == 1
    assert dict(report.counts("left out")) == {reason: 1}
    assert report.entries[reason].lines[0] == 2
    assert f"left out: 1 {reason}" in report.text()
    assert "; lines 2\n" in report.text()


def test_of_a_requeued_job_the_last_run_is_kept_though_an_earlier_one_was_longer(tmp_path):
    first = {"Elapsed": "00:30:00", "End": "2024-01-10T10:31:00", "State": "PREEMPTED"}
    last = {"Start": "2024-01-10T10:40:00", "Elapsed": "00:00:05", "End": "2024-01-10T10:40:05"}
    for rows in ((first, last), (last, first)):  # in whatever order the log has them
        trace, extra, report = imported(log(tmp_path, *rows))
        assert trace.run.tolist() == [5]
        assert trace.wait.tolist() == [40 * 60]
        assert [row["State"] for row in extra] == ["COMPLETED"]
        assert report.counts("left out")["earlier runs of jobs that were requeued"] == 1
    assert sorted(imported(log(tmp_path, first, last), requeues="all")[0].run.tolist()) == [5, 1800]


LATER = {"Start": "2024-01-10T10:40:00", "End": "2024-01-10T10:42:00"}


@pytest.mark.parametrize(
    ("first", "second", "twice", "earlier"),
    [
        ({"JobID": "0"}, {"JobID": "0"} | LATER, 0, 1),  # a number as any other
        # only what agrees in submission and start is the same run twice
        ({}, {}, 1, 0),
        ({}, {"Submit": "2024-01-10T09:59:00"}, 0, 1),
        ({}, {"Start": "2024-01-10T10:01:30", "End": "2024-01-10T10:03:30"}, 0, 1),
    ],
)
def test_runs_of_one_job_are_told_from_lines_that_are_there_twice(tmp_path, first, second, twice, earlier):
    trace, _, report = imported(log(tmp_path, first, second))
    assert len(trace) == 1
    assert report.counts("left out")["that the log has twice"] == twice
    assert report.counts("left out")["earlier runs of jobs that were requeued"] == earlier


def test_the_time_for_which_a_job_was_suspended_is_no_run_time(tmp_path):
    times = {"Start": "2024-01-10T10:01:00", "End": "2024-01-10T10:09:00", "Suspended": "00:05:00"}
    columns = (*USUAL, "Suspended")
    trace, _, report = imported(log(tmp_path, times | {"Elapsed": "00:03:00"}, {"JobID": "2"}, columns=columns))
    assert trace.run.tolist() == [3 * 60, 2 * 60]  # Elapsed is without it
    assert "1 jobs were suspended, 0:05:00 h in all; run times do not include that" in report.text()
    without = tuple(name for name in columns if name != "Elapsed")
    assert imported(log(tmp_path, times, columns=without))[0].run.tolist() == [3 * 60]  # End less Start is with it


def test_a_recording_of_a_suspended_job_has_the_time_for_which_it_ran(recorded):
    trace, _, report, _ = recorded("sacct-suspended.txt")
    assert trace.run.tolist() == [24, 21, 2]  # the first one stopped 21 s for the second
    assert trace.wait.tolist() == [2, 0, 34]
    assert "1 jobs were suspended" in report.text()


def test_a_suspended_job_in_the_repeated_hour_of_autumn_began_before_all_that_it_was_suspended(tmp_path):
    day = "2024-10-27T0"
    moments = {"Submit": f"{day}1:40:00", "Eligible": f"{day}1:40:00", "Start": f"{day}2:10:00", "End": f"{day}3:20:00"}
    row = moments | {"Elapsed": "01:10:00", "Suspended": "01:00:00"}
    trace, _, _ = imported(log(tmp_path, row, columns=(*USUAL, "Suspended")), zone="Europe/Madrid")
    assert trace.wait.tolist() == [30 * 60]  # an hour more if it had run all the time until its end


def test_the_clock_of_a_trace_begins_with_the_first_arrival_and_jobs_are_in_its_order(tmp_path):
    at = "2024-01-10T10:30:00"
    later = {"JobID": "5", "Submit": at, "Eligible": at, "Start": "2024-01-10T10:40:00"}
    trace, extra, _ = imported(log(tmp_path, later, {}))
    assert trace.submit.tolist() == [0, 1800]
    assert trace.wait.tolist() == [60, 600]
    assert [one["JobID"] for one in extra] == ["1", "5"]
    assert "UnixStartTime: 1704880800" in trace.header


def test_any_order_of_columns_gives_the_same_trace(tmp_path):
    usual, _, _ = imported(log(tmp_path, {}))
    other, _, _ = imported(log(tmp_path, {}, columns=sorted(USUAL, key=lambda name: name[::-1]), name="other.txt"))
    for name in (*ALIKE, "requested_time", "user"):
        assert getattr(usual, name).tolist() == getattr(other, name).tolist()


def test_epoch_and_iso_times_give_the_same_trace(tmp_path):
    moments = {"Submit": "1704880800", "Eligible": "1704880800", "Start": "1704880860", "End": "1704880980"}
    iso, _, _ = imported(log(tmp_path, {}))
    for name, row in (("epoch.txt", moments), ("raw.txt", moments | {"Elapsed": ""})):
        trace, _, _ = imported(log(tmp_path, row, name=name))
        assert (trace.header[1], trace.run[0], trace.wait[0]) == (iso.header[1], 120, 60)


def test_numbers_beyond_reason_are_unknown(tmp_path):
    first = {"NCPUS": "9" * 30, "AllocTRES": "", "ReqMem": "9" * 400 + "M"}
    trace, _, report = imported(log(tmp_path, first, {"JobID": "2", "Timelimit": "9" * 30 + "-00:00:00"}))
    assert trace.processors.tolist() == [-1, 4]
    assert misread(report) == {"NCPUS": 1, "ReqMem": 1, "Timelimit": 1}


def test_a_log_twice_in_one_file_gives_each_job_once(tmp_path):
    path = log(tmp_path, {}, {"JobID": "2"})
    path.write_bytes(path.read_bytes() * 2)
    trace, _, report = imported(path)
    assert len(trace) == 2
    assert dict(report.counts("left out")) == {"that the log has twice": 2}
    assert "line of names is there 1 more times" in report.text()


def test_logs_of_different_columns_in_one_file_are_refused(tmp_path):
    path = log(tmp_path, {})
    path.write_bytes(path.read_bytes() + b"JobID|Submit|Start|End|NCPUS\n2|1|2|3|4\n")
    with pytest.raises(WorkloadError, match=r"sacct.txt:3: names other columns; import these logs one by one"):
        imported(path)


def test_values_that_are_not_understood_are_unknown_and_counted(tmp_path):
    path = log(tmp_path, {"ReqMem": "lots", "Timelimit": "soon"}, {"JobID": "2", "ReqMem": "lots"})
    trace, _, report = imported(path)
    assert trace.requested_time.tolist() == [-1, 3600]
    assert misread(report) == {"ReqMem": 2, "Timelimit": 1}
    assert "changed: 2 values of ReqMem that were not understood and are unknown, as 'lots'\n" in report.text()


def test_a_line_that_is_cut_short_is_told(tmp_path):
    path = log(tmp_path, {}, {"JobID": "2"})
    path.write_bytes(path.read_bytes()[:-40])
    trace, _, report = imported(path)
    assert len(trace) == 1
    assert report.entries["lines that are no whole record"].lines == [3]


def test_a_million_lines_would_need_little_memory_for_their_text():
    """What is kept of a job is a record of numbers of fixed size."""
    assert JOB.itemsize <= 160
    assert np.dtype(object) not in [JOB[name] for name in JOB.names]
