"""Traces: what is read, what is refused, and what a trace becomes."""

import gzip
import io
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from calls import calls_of
from hypothesis import given, settings
from hypothesis import strategies as st

from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats import swf
from hdeeprm_like.formats.job_reading import Reading
from hdeeprm_like.formats.job_rules import HDEEPRM, RULES, STANDARD
from hdeeprm_like.formats.plain_numbers import plain_numbers
from hdeeprm_like.formats.swf import FIELDS, WHOLE, Trace, job_of, read_swf, swf_parts, write_swf
from hdeeprm_like.formats.swf_header import cores_of
from hdeeprm_like.formats.trace_jobs import ACCURACY, ACCURACY_STEPS, BANDWIDTHS, Limits, convert
from hdeeprm_like.formats.workload_json import read_workload

ROOT = Path(__file__).parents[2]
GAIA = ROOT / "workloads" / "gaia.swf.gz"
RECORDED = ROOT / "tests" / "golden" / "hdeeprm" / "fixedids_gaia1000_first-high_gflops" / "workload.json"
GAIA_FLOPS = 11715368421.052633  # mean core of the Gaia platform
LINE = "7 100 2 50 4 30.5 2500 4 60 -1 1 3 1 -1 1 -1 -1 -1"


@pytest.fixture(scope="module")
def gaia() -> Trace:
    return read_swf(GAIA)


def trace(tmp_path: Path, text: str) -> Trace:
    path = tmp_path / "some.swf"
    path.write_bytes(text.encode())
    return read_swf(path)


def columns(trace: Trace) -> dict[str, list[float]]:
    return {name: getattr(trace, name).tolist() for name in FIELDS}


def line(**values: float) -> str:
    known = {"job": 1, "submit": 0, "run": 50, "memory": 2500, "requested_processors": 4, "requested_time": 60}
    return " ".join(f"{(known | values).get(name, -1)}" for name in FIELDS)


def jobs(trace: Trace, rules=HDEEPRM, missing_memory=None, **options) -> tuple[Workload, dict[str, int]]:
    """Return jobs, and how many lines were left out for which reason."""
    settings = {"reference_flops": 1e9, "capacity": 8, "rng": np.random.default_rng(0)} | options
    found = convert(trace, Reading(rules=rules, larger="keep", missing_memory=missing_memory), **settings)
    return found, {one.reason: one.jobs for one in found.account.of("left out")}


@pytest.mark.parametrize("more", ["7 8 9", "x y z"])
def test_fields_beyond_the_18_are_ignored_which_one_warning_says(tmp_path, caplog, more):
    found = trace(tmp_path, f"{LINE} {more}\n{LINE} {more}\n")
    assert columns(found) == columns(trace(tmp_path, f"{LINE}\n{LINE}\n"))
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path / 'some.swf'}: has lines of 21 fields; those beyond the 18 of SWF are ignored"
    ]


def test_a_trace_has_a_column_for_each_of_the_18_fields(tmp_path):
    read = trace(tmp_path, f"; Version: 2.2\n;\n{LINE}\n")
    assert columns(read) == {name: [float(word)] for name, word in zip(FIELDS, LINE.split(), strict=True)}
    assert (read.job.dtype, read.submit.dtype) == (np.int64, np.float64)
    assert read.header == ("Version: 2.2", "")
    assert len(read) == 1


@pytest.mark.parametrize(
    "text",
    [
        f"{LINE}\r\n\r\n{LINE}\r\n",
        f"{LINE}\r{LINE}",
        LINE.replace(" ", "\t") + "\n\n   \n  ; a note\n" + f"   {LINE}   \n",
        LINE.replace("7 ", "7.0 ") + f" ; a note\n;note\n{LINE}",
    ],
)
def test_blank_lines_tabs_spaces_notes_and_any_line_ending_are_fine(tmp_path, text):
    read = trace(tmp_path, text)
    assert read.job.tolist() == [7, 7]
    assert read.cpu_time.tolist() == [30.5, 30.5]


@settings(deadline=None)
@given(st.lists(st.lists(st.floats(-1e9, 1e9), min_size=18, max_size=18), min_size=1, max_size=5))
def test_the_fast_and_the_careful_reading_agree_to_the_last_bit(rows):
    whole = [FIELDS.index(name) for name in swf.WHOLE]
    table = np.array(rows)
    table[:, whole] = np.floor(table[:, whole])
    lines = [" ".join(map(repr, row)) + "\n" for row in table.tolist()]
    fast = swf._parse_fast("".join(lines), lines)
    assert fast is not None
    assert np.array_equal(fast, table)
    assert np.array_equal([swf._parse_line(line, "x:1") for line in lines], table)


PLAIN = st.decimals(-(10**9), 10**9, places=6).map("{:f}".format) | st.integers().map(str)


@settings(deadline=None)
@given(st.lists(st.lists(PLAIN, min_size=3, max_size=3), min_size=1, max_size=4))
def test_numbers_that_are_written_plainly_are_read_to_the_last_bit(rows):
    table = plain_numbers("\n".join(map(" ".join, rows)))
    if any(len(word.lstrip("-").replace(".", "")) > 18 for row in rows for word in row):
        assert table is None
    else:
        assert table is not None
        assert table.tolist() == [[float(word) for word in row] for row in rows]


@pytest.mark.parametrize("text", ["1 -", "1 .", "1 -.", "1 --2", "1 2-3", "1 1.2.3", "1 1e3", "1 +1", "1 ٣", "1 x", ""])
def test_what_is_not_written_plainly_is_left_to_others(text):
    assert plain_numbers(text) is None


def test_plain_numbers_stand_in_lines_of_equal_length():
    assert plain_numbers("1 2\n\n  3\t.5 \n").tolist() == [[1.0, 2.0], [3.0, 0.5]]
    assert plain_numbers("-0 5.").tolist() == [[0.0, 5.0]]
    assert plain_numbers("1 2\n3 4 5\n6") is None
    assert plain_numbers("9007199254740993 1").tolist() == [[2.0**53, 1.0]]
    assert plain_numbers("900719925474099.3 1") is None  # two roundings might differ from one


# many tries, two seconds
@pytest.mark.more
@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.tuples(st.integers(0, len(LINE)), st.text(max_size=3)), max_size=4),
    st.sampled_from([LINE, f"\t{LINE} ", f"  {LINE}", f"{LINE} 19", f"{LINE};no job", ";none", ""]),
)
def test_what_is_odd_is_left_to_the_careful_reading(changes, other):
    line = LINE
    for place, text in changes:
        line = line[:place] + text + line[place + 1 :]
    lines = io.TextIOWrapper(io.BytesIO(f"{line}\n{other}\n{LINE}\n".encode(errors="replace"))).readlines()
    fast = swf._parse_fast("".join(lines), lines)
    if fast is not None:
        careful = [swf._parse_line(job, "x:1") for line in lines if (job := job_of(line))]
        assert np.array_equal(fast[:, : len(FIELDS)], careful)


def test_what_one_part_of_a_file_holds_is_no_matter_to_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(swf, "READ_AT_ONCE", 200)  # characters, some three lines
    parts = ["; one\n", "\n", f"{LINE}\n" * 5, ";no header\n" * 30, f"{LINE} 19 ; more\n", f"{LINE}\n" * 9]
    found = trace(tmp_path, "".join(parts))
    assert found.header == ("one",)
    assert found.job.tolist() == [7] * 15
    assert found.line.tolist() == [*range(3, 8), *range(38, 48)]  # as in the file
    with pytest.raises(WorkloadError, match=r"some\.swf:48: has 3 fields"):
        trace(tmp_path, "".join([*parts, "1 2 3\n"]))


def test_the_requests_of_the_original_converter_are_reproduced_exactly(gaia):
    recorded = read_workload(RECORDED, reference_flops=1.0)
    rng = np.random.default_rng(1)
    converted, skipped = jobs(gaia, reference_flops=GAIA_FLOPS, capacity=2280, rng=rng, skip=4, first=1000)
    assert converted.ids == recorded.ids
    for name in ("submit", "size", "requested_time", "requested_ops", "memory", "delay", "walltime"):
        assert np.array_equal(getattr(converted, name), getattr(recorded, name)), name
    assert converted.capacity == recorded.capacity
    assert skipped == {"of unknown memory": 69}
    assert set(recorded.bandwidth) == set(BANDWIDTHS)


def test_the_accuracies_are_those_that_the_original_drew():
    recorded = read_workload(RECORDED, reference_flops=1.0)
    draws = dict(zip(recorded.profiles, recorded.ops / recorded.requested_ops, strict=True))  # one for each profile
    steps = np.round(np.array(list(draws.values())) * 20).astype(int)
    observed = np.bincount(steps - 1, minlength=25)
    expected = ACCURACY * len(draws)
    assert ACCURACY.sum() == pytest.approx(1.0, abs=1e-12)
    assert ((observed - expected) ** 2 / expected).sum() < 36.4  # the 95 % quantile of chi-square with 24 degrees
    assert np.allclose(ACCURACY_STEPS, np.arange(5, 130, 5) / 100)


def test_accuracy_is_drawn_for_each_job_and_not_for_each_profile(gaia):
    converted, _ = jobs(gaia, skip=4)
    accuracy = np.round(converted.ops / converted.requested_ops * 20).astype(int)
    shares = np.bincount(accuracy - 1, minlength=25) / len(converted)
    assert np.abs(shares - ACCURACY).max() < 0.01
    requests = [*zip(converted.requested_time, converted.memory, converted.bandwidth, strict=True)]
    assert len(set(zip(requests, accuracy, strict=True))) > 2 * len(set(requests))
    assert np.abs(np.unique(converted.bandwidth, return_counts=True)[1] / len(converted) - 1 / 6).max() < 0.01


@pytest.mark.parametrize(
    ("text", "time", "size", "memory"),
    [
        (LINE, 60.0, 4, 2.0),
        # unknown requests fall back to what was used
        (line(requested_time=-1, requested_processors=-1, processors=3, requested_memory=9999), 50.0, 3, 9.0),
    ],
)
def test_one_job_by_hand(text, time, size, memory, tmp_path):
    one, skipped = jobs(trace(tmp_path, text))
    assert (one.ids, one.submit.tolist(), one.size.tolist()) == (("w0!0",), [0.0], [size])
    assert (one.requested_time.tolist(), one.requested_ops.tolist()) == ([time], [time * 1e9])
    assert one.memory.tolist() == [memory]
    accuracy = one.ops[0] / one.requested_ops[0]
    assert one.profiles == (f"{time:.0f}_{memory:.0f}_{one.bandwidth[0]:.0f}_{accuracy * 100:.0f}",)
    assert not skipped


def test_the_run_time_of_the_trace_can_stand_in_for_the_drawn_one(tmp_path):
    text = f"{LINE}\n{line(submit=100, run=0)}\n{line(submit=100, run=-1)}"
    read = trace(tmp_path, text)
    one, skipped = jobs(read, STANDARD, runtimes="trace")
    assert one.ops.tolist() == [5e10, 0.0]
    assert one.profiles[0].endswith("_50s")
    assert skipped == {"without a run time (field 4)": 1}
    one, skipped = jobs(read, runtimes="trace")
    assert one.ops.tolist() == [5e10, 0.0]
    assert skipped == {"without a run time, which this conversion needs": 1}


def test_jobs_that_can_never_run_and_jobs_above_a_limit_are_counted_by_reason(tmp_path):
    left_out = [
        (line(requested_time=-1, run=-1), "without a requested time"),
        (line(requested_time=0, run=0), "without a requested time"),
        (line(requested_processors=0), "without a number of processors (fields 5 and 8)"),
        (line(submit=-3), "without a time of submission (field 2)"),
        (line(memory=-1), "of unknown memory"),
        (line(requested_time=61), "that request more than 60 s"),
        (line(requested_processors=5), "with more than 4 cores"),
        (line(memory=3000), "with more than 2 MB per core"),
    ]
    text = "\n".join([line(submit=5), *(one for one, _ in left_out)])
    kept, skipped = jobs(trace(tmp_path, text), limits=Limits(time=60, cores=4, memory=2))
    assert kept.ids == ("w0!0",)
    assert kept.submit.tolist() == [0.0]
    assert skipped == Counter(reason for _, reason in left_out)


def test_a_limit_leaves_the_draws_of_the_other_jobs_alone(tmp_path):
    text = "\n".join(line(requested_time=100 + i, requested_processors=1 + i % 7) for i in range(300))
    read = trace(tmp_path, text)
    free, _ = jobs(read)
    draws = dict(zip(free.requested_time, zip(free.ops, free.bandwidth, strict=True), strict=True))
    narrow, skipped = jobs(read, limits=Limits(bandwidth=12, cores=4), skip=10)
    assert 0 < len(narrow) == 290 - sum(skipped.values())
    assert (narrow.bandwidth.max(), narrow.size.max()) == (12, 4)
    for asked, ops, bandwidth in zip(narrow.requested_time, narrow.ops, narrow.bandwidth, strict=True):
        assert draws[asked] == (ops, bandwidth)


def test_first_means_jobs_that_are_kept(tmp_path):
    text = "\n".join([line(submit=1), line(submit=2, memory=-1), line(submit=3), line(submit=4), line(memory=-1)])
    kept, skipped = jobs(trace(tmp_path, text), first=2)
    assert kept.submit.tolist() == [0.0, 2.0]
    assert skipped == {"of unknown memory": 1}
    kept, skipped = jobs(trace(tmp_path, text), skip=1)
    assert kept.submit.tolist() == [0.0, 1.0]
    assert skipped == {"of unknown memory": 2}


def test_jobs_without_memory_stay_when_their_memory_is_given_or_no_job_has_any(gaia):
    kept, skipped = jobs(gaia, skip=4, missing_memory=0.0)
    assert (len(kept), skipped) == (51_983, {})
    kept, skipped = jobs(read_swf(ROOT / "workloads" / "lublin_256_500.swf.gz"))
    assert (len(kept), kept.memory.max(), skipped) == (500, 0.0, {})


def test_leaving_out_every_job_is_refused(tmp_path):
    with pytest.raises(WorkloadError, match=r"no job of it ran on some processors"):
        jobs(trace(tmp_path, LINE), skip=4)


values = st.integers(-1, 5)


@settings(deadline=None)
@given(
    st.lists(st.fixed_dictionaries(dict.fromkeys(FIELDS, values)), min_size=1, max_size=12),
    st.integers(0, 2),
    st.sampled_from(["accuracy", "trace"]),
    st.sampled_from([*RULES.values()]),
)
def test_no_line_is_lost_and_rows_stand_in_the_order_of_batsim(tmp_path_factory, rows, skip, runtimes, rules):
    path = tmp_path_factory.getbasetemp() / "any.swf.gz"
    path.write_bytes(gzip.compress("\n".join(" ".join(map(str, row.values())) for row in rows).encode()))
    read = read_swf(path)
    try:
        kept, skipped = jobs(read, rules, skip=skip, limits=Limits(time=4, cores=3), runtimes=runtimes)
    except WorkloadError:
        return
    assert len(kept) + sum(skipped.values()) == len(rows) - skip
    keys = list(zip(kept.submit, (name.encode() for name in kept.ids), strict=True))
    assert keys == sorted(keys)
    assert set(kept.ids) == {f"w0!{i}" for i in range(len(kept))}
    assert kept.submit[0] == 0
    assert (kept.size >= 1).all()
    assert (kept.requested_time >= 0).all()


def test_numbers_are_written_as_they_were(tmp_path):
    text = f"; Version: 2.2\n;\n{LINE}\n{line(submit=-3, run=0.1, cpu_time=1234567890.25, memory=2**53 - 1)}\n"
    write_swf(trace(tmp_path, text), tmp_path / "again.swf")
    assert (tmp_path / "again.swf").read_text() == text


def test_equal_traces_give_equal_bytes_also_when_packed(tmp_path):
    read = trace(tmp_path, LINE)
    for name in ("one.swf.gz", "other.swf.gz"):
        write_swf(read, tmp_path / name)
    assert (tmp_path / "one.swf.gz").read_bytes() == (tmp_path / "other.swf.gz").read_bytes()
    assert columns(read_swf(tmp_path / "one.swf.gz")) == columns(read)


anything = st.floats(-(2.0**53), 2.0**53, exclude_min=True, exclude_max=True)
whole_numbers = st.integers(-(2**53) + 1, 2**53 - 1)
any_line = st.fixed_dictionaries({name: whole_numbers if name in WHOLE else anything for name in FIELDS})
notes = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20).map(str.strip)


@given(st.lists(any_line, min_size=1, max_size=5), st.lists(notes, max_size=4))
def test_any_trace_survives_writing_and_reading(tmp_path_factory, rows, header):
    path = tmp_path_factory.getbasetemp() / "written.swf"
    given_columns = {name: np.array([row[name] for row in rows]) for name in FIELDS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swf, "WRITTEN_AT_ONCE", 2)  # jobs
        write_swf(Trace(path=path, header=tuple(header), **given_columns), path)
    again = read_swf(path)
    assert columns(again) == {name: column.tolist() for name, column in given_columns.items()}
    assert again.header == tuple(header)


def test_what_no_trace_can_hold_is_not_written(tmp_path):
    read = trace(tmp_path, LINE)
    with pytest.raises(WorkloadError, match=r"out\.swf: requested time: numbers below 2\^53 are possible"):
        write_swf(replace(read, requested_time=np.array([np.inf])), tmp_path / "out.swf")
    with pytest.raises(WorkloadError, match=r"out\.swf: header: 'a\\nb' is more than one line"):
        write_swf(replace(read, header=("a\nb",)), tmp_path / "out.swf")
    assert not (tmp_path / "out.swf").exists()


MEASURE = """
import resource, sys, time
from pathlib import Path
from hdeeprm_like.formats.swf import read_swf, write_swf
begin = time.perf_counter()
trace = read_swf(Path(sys.argv[1]))
read = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
write_swf(trace, Path(sys.argv[1]))
print(f"{len(trace):,} lines: read {read - begin:.1f} s, {peak:.0f} MB; written {time.perf_counter() - read:.1f} s")
"""


@pytest.mark.bench
def test_reading_and_writing_a_million_jobs(tmp_path):
    with gzip.open(ROOT / "workloads" / "ctc_sp2_500.swf.gz", "rt") as file:
        lines = [line for line in file if not line.startswith(";")]
    (tmp_path / "million.swf").write_text("".join(lines * (1_000_000 // len(lines))))
    told = subprocess.run([sys.executable, "-c", MEASURE, tmp_path / "million.swf"], capture_output=True, check=True)
    sys.stdout.write("\n" + told.stdout.decode())


# packs a hundred megabytes each; one stays
@pytest.mark.lane(more=r"(?!\\n).*")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"\n", "1 MiB of blanks and line ends in a row"),
        (b" \t\n", "1 MiB of blanks and line ends in a row"),
        (b"; a\n", "100,000 comments before its first job"),
    ],
)
def test_a_packed_file_of_lines_without_jobs_is_refused_early(tmp_path, line, message):
    path = tmp_path / "lines.swf.gz"
    with gzip.open(path, "wb", 1) as file:
        for _ in range(120):
            file.write(line * 10**6)
    for read in (read_swf, lambda path: list(swf_parts(path, endless=True))):

        def refused(read=read):
            with pytest.raises(WorkloadError, match=message):
                read(path)

        assert calls_of(refused) < 5_000_000  # one for each line would be a hundred million


def test_comments_among_the_jobs_that_go_on_for_ever_are_refused(tmp_path):
    path = tmp_path / "lines.swf"
    path.write_text(f"{LINE}\n" + "; a\n" * 1_500_000)
    with pytest.raises(WorkloadError, match="1,000,000 lines in a row that are no job"):
        read_swf(path)


@pytest.mark.parametrize(
    "pack",
    [
        lambda text: gzip.compress(text.encode()),  # under a name without .gz
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-8-sig"),
        lambda text: f"JobID Submit Wait Run Procs\n{text}".encode(),  # a line of names that is no comment
    ],
)
def test_a_trace_is_known_whatever_it_is_packed_in(tmp_path, pack):
    path = tmp_path / "t.swf"
    path.write_bytes(pack(f"{LINE}\n{LINE}\n"))
    assert read_swf(path).job.tolist() == [7, 7]


@pytest.mark.parametrize(
    ("header", "cores", "sure"),
    [
        ("MaxProcs: 8", 8, True),
        (" MaxProcs : 8", 8, True),
        ("MaxProcs 8", 8, True),
        ("maxprocs:8", 8, True),
        ("Max Procs=8", 8, True),
        ("MaxProcessors: 8 (in 2 partitions)", 8, True),
        ("MAX_CPUS: 1,024", 1024, True),
        ("MaxProcs: 1'024.", 1024, True),
        ("MaxNodes: 4\nMaxProcs: 8", 8, True),
        ("MaxNodes: 4", 4, False),
        ("MaxProcs: UNKNOWN\nMaxNodes: 4", 4, False),
        ("MaxProcs: -1\nMaxNodes: 4", 4, False),
        ("MaxProcs: 8x16\nMaxNodes: 8", 8, False),
        ("MaxProcs: 128 512", None, False),  # two partitions, or thousands
        ("MaxProcsPerNode: 4", None, False),
        ("Note: MaxProcs: 4 was wrong", None, False),
    ],
)
def test_the_processors_of_the_header_are_read_in_any_spelling(header, cores, sure):
    found = cores_of(header.split("\n"))
    assert (found.number, found.sure) == (cores, sure) if cores else found is None
