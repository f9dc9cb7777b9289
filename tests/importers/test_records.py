"""Records whose names hold separators and line ends, as Slurm prints them without a quote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs import USUAL, imported, log, misread

NAMES = ["a|b", "|", "a|b|COMPLETED|c", "two\nlines", "a|b\nc|d", "end\n", "x\n\ny", "12345|x\n7", "5|bash\n"]
LINES = ["sbatch -J x --wrap 'a | b | c'", "sbatch --wrap 'for i in 1 2\ndo echo $i|cat\ndone'", "sh -c '|'"]
TEXTS = ("JobName", "SubmitLine", "Comment")
OTHERS = tuple(USUAL)[1:]  # all columns but JobID


def jobs_of(folder, columns, *rows):
    trace, extra, report = imported(log(folder, *rows, columns=columns))
    assert report.used + report.left_out == report.jobs
    return trace, [one["JobID"] for one in extra], report


@pytest.mark.parametrize("place", [1, 5, len(USUAL)])
@pytest.mark.parametrize("text", [*NAMES, *LINES])
@pytest.mark.parametrize("column", ["JobName", "SubmitLine"])
def test_a_text_with_separators_or_line_ends_is_put_together(tmp_path, column, text, place):
    columns = [*USUAL]
    columns.insert(place, column)
    rows = [{"JobID": str(number), column: text if number in (2, 3) else "plain"} for number in (1, 2, 3, 4)]
    trace, jobs, report = jobs_of(tmp_path, columns, *rows)
    assert jobs == ["1", "2", "3", "4"]
    assert trace.run.tolist() == [120] * 4
    assert trace.requested_memory.tolist() == [2800 * 1024] * 4
    assert not report.left_out
    assert not misread(report)


@pytest.mark.parametrize(
    ("columns", "texts"),
    [
        # several texts may hold separators, also in the first column; so do alternatives of constraints
        (("JobID", "JobName", *OTHERS, "SubmitLine", "Comment"), dict.fromkeys(TEXTS, "a|b")),
        (("JobID", "JobName", *OTHERS, "SubmitLine", "Comment"), dict.fromkeys(TEXTS, "a|b|c|d")),
        (("JobName", *USUAL), {"JobName": "a|b"}),
        (("JobName", *USUAL), {"JobName": "a|b|c"}),
        (("JobID", "Constraints", *OTHERS, "JobName"), {"Constraints": "skylake|milan", "JobName": "a|b"}),
    ],
)
def test_texts_may_hold_separators_wherever_they_stand(tmp_path, columns, texts):
    trace, extra, report = imported(log(tmp_path, *({"JobID": job} | texts for job in "12"), columns=columns))
    assert [one["JobID"] for one in extra] == ["1", "2"]
    assert [one["Constraints"] for one in extra] == [texts.get("Constraints", "")] * 2
    assert (trace.run.tolist(), trace.requested_time.tolist()) == ([120, 120], [3600, 3600])
    assert misread(report) == {}


TEXT = st.text(st.sampled_from("abC |\n\"'"), max_size=12)


@given(st.lists(TEXT, min_size=1, max_size=6))
def test_no_job_is_lost_or_made_up_by_any_name(tmp_path_factory, names):
    folder = tmp_path_factory.mktemp("log")
    columns = ("JobID", "JobName", *OTHERS)
    rows = [{"JobID": str(number), "JobName": name} for number, name in enumerate(names, 1)]
    trace, jobs, _ = jobs_of(folder, columns, *rows)
    assert jobs == [str(number) for number in range(1, len(names) + 1)]
    assert trace.run.tolist() == [120] * len(names)


def test_a_line_of_a_name_that_looks_like_the_beginning_of_a_record_costs_no_job(tmp_path):
    """Nobody can tell ``5|6`` in a name from a record that was cut short, so it is told as one."""
    columns = (*USUAL, "JobName")
    rows = [{"JobID": str(number), "JobName": "3|4\n5|6" if number == 2 else "plain"} for number in (1, 2, 3)]
    _, jobs, report = jobs_of(tmp_path, columns, *rows)
    assert jobs == ["1", "2", "3"]
    assert dict(report.counts("left out")) == {"lines that are no whole record": 1}
