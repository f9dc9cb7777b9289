"""Of what Slurm lists, only jobs that are new or changed are read in full."""

import pytest
from slurm_shows import BEGIN, JOBS, scontrol_jobs, sinfo_lines, squeue_lines
from test_shown import NODES

from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.slurm.changes import JobChanges, NodeChanges
from hdeeprm_like.slurm.shown import RUNS, jobs_of_text

MANY = tuple(JOBS[1]._replace(number=n, partition="normal") for n in range(100, 200))


class Room:
    """Jobs that are listed, and which of them were read in full; None where all were at once."""

    def __init__(self, *jobs):
        self.jobs = jobs
        self.read = []
        self.changes = JobChanges()

    def look(self):
        def read(numbers):
            self.read.append(numbers)
            return jobs_of_text(scontrol_jobs([job for job in self.jobs if numbers is None or job.number in numbers]))

        return {job.number: job for job in self.changes.jobs(squeue_lines(self.jobs), read)}

    def change(self, number, **how):
        self.jobs = tuple(job._replace(**how) if job.number == number else job for job in self.jobs)


def test_all_are_read_first_and_then_those_that_come_or_change():
    room = Room(*MANY)
    assert len(room.look()) == 100
    room.jobs = (*room.jobs, JOBS[1]._replace(number=300))
    room.change(110, states=("RUNNING",), start=50)
    before = room.look()
    assert before[110].phase == RUNS
    assert before[110].start == BEGIN + 50
    assert room.read == [None, [110, 300]]
    after = room.look()
    assert all(after[number] is before[number] for number in before)
    room.jobs = room.jobs[1:]
    assert set(room.look()) == set(before) - {100}
    assert room.read == [None, [110, 300]]


@pytest.mark.parametrize(
    ("how", "read"),
    [
        ({"priority": 77}, False),
        ({"reason": "Priority"}, False),
        ({"priority": 0}, True),  # it is held
        ({"reason": "Dependency"}, True),
        ({"limit": 20}, True),
        ({"cpus": 5}, True),
        ({"partition": "debug"}, True),
    ],
)
def test_a_priority_alone_is_taken_from_the_line(how, read):
    room = Room(*MANY)
    room.look()
    room.change(120, **how)
    job = room.look()[120]
    assert room.read == [None, [120]] if read else [None]
    told = job._asdict() | {"limit": job.limit / 60, "partition": job.partitions[0]}
    assert {name: told[name] for name in how} == how


def test_a_change_of_the_kind_of_reason_is_read_whichever_way_it_goes():
    room = Room(*MANY)
    room.look()
    for reason in ("Dependency", "Priority"):
        room.change(120, reason=reason)
        room.look()
    assert room.read == [None, [120], [120]]


def test_a_job_that_is_gone_before_it_is_read_is_left_out_and_tried_again():
    room = Room(*MANY)
    room.look()
    text = squeue_lines((*MANY, JOBS[1]._replace(number=300)))
    tried = []
    for _ in range(2):
        assert len(room.changes.jobs(text, lambda numbers: tried.append(numbers) or [])) == 100
    assert tried == [[300], [300]]


@pytest.mark.parametrize("line", ["12|5|PENDING", "x|5|PENDING|None", "12|much|PENDING|None", ""])
def test_a_line_of_another_form_is_refused(line):
    with pytest.raises(ProtocolError, match="is no line of"):
        JobChanges().jobs(f"{line}\n", lambda numbers: [])


def test_nodes_are_read_again_where_more_than_their_load_has_changed():
    changes, read, text = NodeChanges(), [], sinfo_lines()

    def look(text):
        return changes.nodes(text, lambda: read.append(text) or NODES)

    assert look(text) is NODES
    look(text.replace("mixed", "allocated"))
    assert len(read) == 1
    look(text.replace("mixed", "down*"))
    look(text.replace("|16|mixed", "|8|mixed"))
    assert len(read) == 3
