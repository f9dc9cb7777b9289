"""Workflows (``-W``, ``--WS``): tasks of a DAX file become jobs as those before them end."""

import json
from itertools import pairwise

import pytest
from server_inputs import Filler, rows, workload, write_inputs

from hdeeprm_like.batsim_server.cli import play, read_command_line
from hdeeprm_like.batsim_server.workflows import read_workflow
from hdeeprm_like.errors import HDeepRMError, WorkloadError

DIAMOND = """<?xml version="1.0"?>
<adag xmlns="http://pegasus.isi.edu/schema/DAX" name="diamond" jobCount="4">
  <job id="b" runtime="3"/> <job id="a" runtime="2.5"><uses file="x"/></job>
  <job id="d" runtime="1"/> <job id="c" runtime="5"/>
  <child ref="b"><parent ref="a"/></child>
  <child ref="c"><parent ref="a"/></child>
  <child ref="d"><parent ref="b"/><parent ref="c"/></child>
</adag>
"""
SLEEP = {"s": {"type": "delay", "delay": 4}}


def played(folder, *words, jobs=(), scheduler=None):
    """Play the workflow above, and jobs if there are some; return what the scheduler heard and the rows of all jobs."""
    (folder / "dag.xml").write_text(DIAMOND)
    write_inputs(folder, workload(jobs, SLEEP))
    also = ["-w", str(folder / "w.json")] if jobs else []
    options, _ = read_command_line(["-p", str(folder / "p.xml"), "-e", str(folder / "out"), *also, *words])
    scheduler = scheduler or Filler()
    assert play(options, scheduler.ask)
    return scheduler, {f"{row['workload_name']}!{row['job_id']}": row for row in rows(folder)}


def test_tasks_become_jobs_when_those_before_them_are_over(tmp_path):
    scheduler, found = played(tmp_path, "-W", str(tmp_path / "dag.xml"))
    assert [row["profile"] for row in found.values()] == ["wf0_a", "wf0_b", "wf0_c", "wf0_d"]
    starts = [float(row["starting_time"]) for row in found.values()]
    assert starts == pytest.approx([0.0, 2.5, 2.5, 7.5], abs=1e-3)
    assert starts[3] > starts[2] > starts[0]
    (_, begins), *_ = scheduler.heard_of("SIMULATION_BEGINS")
    assert begins["workloads"] == {"wf0": str(tmp_path / "dag.xml")}
    assert begins["profiles"] == {"wf0": {}}
    first = scheduler.heard_of("JOB_SUBMITTED")[0][1]
    assert first["job"] == {"id": "wf0!0", "subtime": 0.0, "walltime": 12.5, "res": 1, "profile": "wf0_a"}
    said = [kind for _, kind, data in scheduler.heard if kind != "NOTIFY" or data["type"].startswith("no_more_static")]
    assert said[-2:] == ["NOTIFY", "SIMULATION_ENDS"]


def test_a_workflow_begins_at_its_time_beside_other_jobs(tmp_path):
    jobs = [(1, 1, "s", None)]
    scheduler, found = played(tmp_path, "--WS", str(tmp_path / "dag.xml"), "20", jobs=jobs)
    assert float(found["w0!0"]["starting_time"]) == pytest.approx(1.0, abs=1e-3)
    assert float(found["wfc0!0"]["submission_time"]) == pytest.approx(20.0, abs=1e-3)
    assert list(scheduler.heard_of("SIMULATION_BEGINS")[0][1]["workloads"]) == ["w0", "wfc0"]


def test_a_workflow_has_as_many_jobs_at_a_time_as_it_may(tmp_path):
    _, found = played(tmp_path, "-W", str(tmp_path / "dag.xml"), "--workflow-jobs-limit", "1")
    spans = sorted((float(row["starting_time"]), float(row["finish_time"])) for row in found.values())
    assert all(later[0] >= earlier[1] for earlier, later in pairwise(spans))


@pytest.mark.parametrize(("seconds", "ends"), [(2, False), (3, True)])
def test_a_workflow_whose_tasks_end_together_gets_stuck_as_in_batsim(seconds, ends, tmp_path):
    """The server waits to report the second end to the submitter, which waits to send a task to the server."""
    edges = '<child ref="c"><parent ref="a"/></child><child ref="d"><parent ref="b"/></child>'
    tasks = "".join(f'<job id="{task}" runtime="{seconds if task == "b" else 2}"/>' for task in "abcd")
    (tmp_path / "g.xml").write_text(f"<adag>{tasks}{edges}</adag>")
    write_inputs(tmp_path, workload([], SLEEP))
    options, _ = read_command_line(["-p", str(tmp_path / "p.xml"), "-W", str(tmp_path / "g.xml")])
    scheduler = Filler()
    assert play(options.replaced(export=str(tmp_path / "out")), scheduler.ask) == ends
    assert len(scheduler.heard_of("JOB_COMPLETED")) == 4 * ends


def test_jobs_after_the_last_workflow_can_be_ignored(tmp_path):
    jobs = [(1, 1, "s", None), (99, 1, "s", None)]
    scheduler, found = played(tmp_path, "-W", str(tmp_path / "dag.xml"), "--ignore-beyond-last-workflow", jobs=jobs)
    assert "w0!0" in found
    assert "w0!1" not in found
    assert "w0!1" not in json.dumps([data for _, data in scheduler.heard_of("JOB_SUBMITTED")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<adag><job id='a' runtime='x'/></adag>", "runtime: is 'x'; a number of seconds above 0"),
        ("<adag><job id='a' runtime='0'/></adag>", "runtime: is '0'; a number of seconds above 0"),
        ("<adag><job id='a' runtime='1'/><child ref='b'><parent ref='a'/></child></adag>", "there is no such job"),
        ("<dag/>", "the root is <dag>, not <adag>"),
        ("<adag>", "not valid XML"),
        ("<!DOCTYPE x [<!ENTITY e 'e'>]><adag>&e;</adag>", "not valid XML"),
    ],
)
def test_a_wrong_workflow_is_one_line(text, message, tmp_path):
    (tmp_path / "dag.xml").write_text(text)
    with pytest.raises(WorkloadError, match=message) as error:
        read_workflow(tmp_path / "dag.xml", "wf0")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("time", ["x", "-1", "nan", "inf"])
def test_a_wrong_time_to_begin_is_one_line(time):
    with pytest.raises(HDeepRMError, match="--WS"):
        read_command_line(["-p", "p.xml", "--WS", "dag.xml", time])
