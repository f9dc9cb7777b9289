"""Logs of other origin, by the maps that come along and by maps of one's own."""

import csv
import gzip
import io
import sys
from importlib import resources

import pytest
from logs import EAGLE, figures, misread, written
from table_map import OWN_MAP

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import HDeepRMError, OptionsError, WorkloadError
from hdeeprm_like.importers.column_maps import known_maps, read_map
from hdeeprm_like.importers.table import read_table

ROWS = "id;in;from;to;n;limit;ram;hosts;how\n"
ROWS += "7;2024-01-10 10:00:00;2024-01-10 10:01:00;2024-01-10 10:03:00;4;1.5;8;2;good\n"


def table(folder, text, name, by):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    columns = folder / "map.toml"
    columns.write_text(by)
    return written(read_table(path, read_map(str(columns)), Account(str(path), form="log")), path)


def test_a_map_of_ones_own(tmp_path):
    trace, extra, report = table(tmp_path, ROWS, "log.csv", OWN_MAP)
    assert (trace.run[0], trace.wait[0], trace.requested_time[0], trace.status[0]) == (120, 60, 5400, 1)
    assert trace.requested_memory[0] == 8 * 1024**2 * 2 / 4
    assert (extra[0]["JobID"], extra[0]["State"], report.used) == ("7", "COMPLETED", 1)


def test_lines_that_are_cut_short_and_states_that_are_not_known_are_told(tmp_path):
    text = ROWS + "8;2024-01-10 10:00:00;2024-01-10 10:01\n" + ROWS.splitlines()[1].replace("good", "odd") + "\n"
    trace, _, report = table(tmp_path, text, "log.csv", OWN_MAP)
    assert trace.status.tolist() == [1, -1]
    assert dict(report.counts("left out")) == {"lines with fewer than 9 values": 1}
    assert misread(report) == {"how": 1}
    assert report.used + report.left_out == report.jobs == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[columns]", "[column]"), "'column' is not known; did you mean 'columns'?"),
        (("submit =", "submitted ="), "columns.submitted is not known; did you mean 'submit'?"),
        (('cpus = "n"', ""), "cpus or requested_cpus is needed"),
        (('end = "to"', ""), "submit is needed, and run or end"),
        (('"GB"', '"acres"'), "units.memory: 'acres' is none of B, KB, MB, GB"),
        (('"node"', '"rack"'), "memory.of: 'rack' is none of job, node, cpu"),
        (('"COMPLETED"', '"DONE"'), "states.good: 'DONE' is no state"),
        (('";"', '"; "'), "one character, or blanks, is needed"),
        (('"id"', "id"), "is no TOML"),
        (('"id"', "[" * 5000), "nested too deeply"),
        (('job = "id"', "job = 3"), "columns.job: the name of a column"),
    ],
)
def test_a_mistake_in_a_map_is_told_in_one_line(tmp_path, change, said):
    with pytest.raises(OptionsError) as error:
        table(tmp_path, ROWS, "log.csv", OWN_MAP.replace(*change))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "column 'in', which"),
        ("a,b\n1,2\n", "column 'in', which"),
        (b"\0\1\2", "is no text"),
        (ROWS.splitlines()[0] + "\n", "holds no job that ran"),
    ],
)
def test_what_is_no_such_log_is_told_in_one_line(tmp_path, text, said):
    with pytest.raises(WorkloadError) as error:
        table(tmp_path, text, "log.csv", OWN_MAP)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_map_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(OptionsError, match="did you mean 'eagle'"):
        read_map("eagel")


# -- those that come along


def test_the_maps_that_come_along_can_be_read():
    known = "cobalt eagle fdata frontier gridengine htcondor kueue lsf oar pbs pm100"
    assert known_maps() == known.split()
    for name in known_maps():
        assert read_map(name) == read_map(f"{name}.toml") or read_map(name).columns == read_map(f"{name}.toml").columns


def test_the_sample_of_eagle_is_read_whole(tmp_path):
    """The figures are counted here once more, from the file, by hand."""
    with gzip.open(EAGLE, "rt") as file:
        rows = list(csv.DictReader(file))
    path = tmp_path / "eagle.csv"
    path.write_bytes(gzip.decompress(EAGLE.read_bytes()))
    trace, extra, report = written(read_table(path, read_map("eagle"), Account("eagle", form="x")), path)
    assert len(trace) == len(rows) == report.used == 1000
    assert not misread(report)
    assert sorted(trace.run.tolist()) == sorted(float(row["run_time"]) for row in rows)
    assert trace.requested_processors.sum() == sum(int(row["processors_req"]) for row in rows)
    assert sorted(trace.requested_time.tolist()) == sorted(float(row["wallclock_req"]) for row in rows)
    assert sum(int(one["GPUs"] or 0) for one in extra) == sum(int(row["gpus_req"]) for row in rows)
    assert {one["User"] for one in extra} == {row["user"] for row in rows}
    first = rows[0]
    assert (first["submit_time"], first["start_time"]) == ("2019-01-01 08:55:55", "2019-01-01 08:55:56")
    assert (trace.submit[0], trace.wait[0]) == (0, 1)
    assert "UnixStartTime: 1546358155" in trace.header  # 15:55:55 UTC


def test_frontiers_swf_of_21_fields(tmp_path):
    lines = "; Computer: Frontier\n1 0 10 100 64 -1 -1 64 200 2048 1 5 6 7 1 2 -1 -1 8 9 10\n"
    lines += "2 5 -1 50 8 -1 -1 -1 -1 -1 0 6 6 -1 1 2 -1 -1 8 9 10\n"
    path = tmp_path / "frontier.swf"
    path.write_text(lines)
    trace, _, report = written(read_table(path, read_map("frontier"), Account("x", form="y")), tmp_path / "out")
    assert figures(trace, "submit", "wait", "run") == ([0, 5], [10, -1], [100, 50])
    assert figures(trace, "requested_memory", "status") == ([2048, -1], [1, 0])
    assert not misread(report)
    assert not any(line.startswith("UnixStartTime") for line in trace.header)


def test_pm100_written_as_csv(tmp_path):
    row = {
        **{"job_id": 3, "submit_time": "2020-05-05 12:00:00+00:00", "eligible_time": "2020-05-05 12:00:30+00:00"},
        **{"start_time": "2020-05-05 12:01:00+00:00", "end_time": "2020-05-05 12:11:00+00:00", "run_time": 600},
        **{"time_limit": 60, "num_cores_alloc": 128, "num_cores_req": 32, "num_nodes_alloc": 1, "num_gpus_alloc": 4},
        **{"mem_req": 16, "job_state": "COMPLETED", "user_id": 1, "group_id": 2, "partition": 0, "qos": 1},
        **{"power_consumption": "[1, 2]"},
    }
    trace, extra, _ = table(tmp_path, as_csv(row), "pm100.csv", toml("pm100"))
    assert (trace.wait[0], trace.run[0], trace.requested_time[0]) == (30, 600, 3600)
    assert (trace.processors[0], trace.requested_processors[0], extra[0]["GPUs"]) == (128, 32, "4")
    assert trace.requested_memory[0] == 16 * 1024**2 / 128


def test_fdata_written_as_csv(tmp_path):
    row = {
        **{"jid": "a1b2", "usr": "u", "jnam": "j", "cnumr": 96, "cnumat": 96, "nnumr": 2, "nnuma": 2},
        **{"adt": "2021-04-01 09:00:00", "qdt": "2021-04-01 09:00:00", "sdt": "2021-04-01 09:05:00"},
        **{"edt": "2021-04-01 10:05:00", "elpl": 7200.0, "duration": 3600.0, "mszl": 1.8446744073709552e19},
        **{"mmszu": 96 * 1024.0, "exit state": "completed"},
    }
    trace, _, report = table(tmp_path, as_csv(row), "fdata.csv", toml("fdata"))
    assert (trace.wait[0], trace.run[0], trace.requested_time[0]) == (300, 3600, 7200)
    assert trace.requested_memory[0] == -1  # no limit
    assert trace.status[0] == 1
    assert not misread(report)
    assert "UnixStartTime: 1617235200" in trace.header  # 00:00 UTC


def test_parquet_without_pyarrow_is_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(HDeepRMError, match="Parquet needs pyarrow: pip install pyarrow, or write the table as CSV"):
        table(tmp_path, b"PAR1", "pm100.parquet", toml("pm100"))


def as_csv(*rows):
    file = io.StringIO()
    lines = csv.DictWriter(file, list(rows[0]))
    lines.writeheader()
    lines.writerows(rows)
    return file.getvalue()


def toml(name):
    return resources.files("hdeeprm_like.importers").joinpath("maps", f"{name}.toml").read_text()
