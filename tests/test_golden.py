"""``launch`` gives the schedules that the original HDeepRM gave on the real Batsim 4.2.1, core for core."""

import csv
import gzip
import json
from pathlib import Path

import pytest

from hdeeprm_like.cli.main import main
from hdeeprm_like.results.batsim_files import parse_interval_set

GOLDEN = Path(__file__).parent / "golden"
PLATFORMS = Path(__file__).parent.parent / "platforms"
GAIA = sorted(path.name for path in (GOLDEN / "hdeeprm").glob("fixedids_*"))
LEARNING = sorted(path.name for path in (GOLDEN / "batsim4").glob("hdeeprm_*"))
CLOSE = 1e-6  # relative for figures, s for times, which carry Batsim's nanoseconds

SAME_TEXT = ("job_id", "workload_name", "profile", "final_state", "allocated_resources", "success", "metadata")
WALL_CLOCK = {"scheduling_time", "simulation_time", "batsim_version"}
ORDERS = {"nb_grouped_switches", "nb_machine_switches"}  # the original sends P-states on their way, too


def table(path):
    """Records of a CSV file, packed or not."""
    packed = path.with_name(path.name + ".gz")
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else path.read_text()
    return list(csv.DictReader(text.splitlines()))


def launched(folder, platform, pair, output):
    """The output directory of a recorded case, played again."""
    options = {"seed": 1, "pybatsim": {"agent": {"type": "CLASSIC", "policy_pair": pair}}}
    (output / "options.json").write_text(json.dumps(options))
    arguments = ["--options", output / "options.json", "--platform", platform, "--workload", folder / "workload.json"]
    assert main(["launch", "--quiet", *map(str, arguments), "--output", str(output / "run")]) == 0
    return output / "run"


@pytest.fixture(scope="module", params=[("hdeeprm", case) for case in GAIA] + [("batsim4", case) for case in LEARNING])
def case(request, tmp_path_factory):
    """Folders of a recording and of the same experiment on the embedded simulator."""
    kind, name = request.param
    platform = PLATFORMS / ("gaia.json" if kind == "hdeeprm" else "learning.json")
    pair = name.split("_", 2)[-1]
    return GOLDEN / kind / name, launched(GOLDEN / kind / name, platform, pair, tmp_path_factory.mktemp(name))


def test_all_recordings_are_there():
    assert (len(GAIA), len(LEARNING)) == (3, 5)


def test_every_job_starts_and_ends_as_recorded_on_the_same_cores(case):
    recorded, ours = ({row["job_id"]: row for row in table(folder / "out_jobs.csv")} for folder in case)
    assert ours.keys() == recorded.keys()
    for job, expected in recorded.items():
        row = ours[job]
        assert {name: row[name] for name in SAME_TEXT} == {name: expected[name] for name in SAME_TEXT}
        for name in expected.keys() - set(SAME_TEXT):
            assert float(row[name]) == pytest.approx(float(expected[name]), rel=CLOSE, abs=2 * CLOSE), (row, name)


def test_the_jobs_are_listed_as_they_ended_but_for_those_that_ended_together(case):
    recorded, ours = ([float(row["finish_time"]) for row in table(folder / "out_jobs.csv")] for folder in case)
    assert ours == pytest.approx(recorded, rel=0, abs=2 * CLOSE)


def test_the_figures_of_the_schedule_are_as_recorded(case):
    (recorded,), (ours,) = (table(folder / "out_schedule.csv") for folder in case)
    assert list(recorded) == list(ours)
    for name in recorded.keys() - WALL_CLOCK - ORDERS:
        assert float(ours[name]) == pytest.approx(float(recorded[name]), rel=CLOSE, abs=2 * CLOSE), name


def test_the_metrics_in_the_record_are_those_of_the_schedule(case):
    (ours,) = table(case[1] / "out_schedule.csv")
    metrics = json.loads((case[1] / "run.json").read_text())["metrics"]
    assert metrics.keys() == ours.keys()
    for name in ours.keys() - WALL_CLOCK:
        assert float(ours[name]) == pytest.approx(metrics[name], abs=CLOSE)


def changes(told):
    """What holds from when on, of pairs of time and what is told; the last word of a microsecond counts."""
    last = {round(time, 6): value for time, value in told}
    found = []
    for time, value in last.items():
        if not found or found[-1][1] != value:
            found.append((time, value))
    return found


def test_as_many_cores_compute_at_any_time_as_recorded(case):
    recorded, ours = (
        changes((float(row.pop("time")), row) for row in table(folder / "out_machine_states.csv")) for folder in case
    )
    assert ours == recorded


def pstates(rows):
    """Yield times and the P-states of all cores then."""
    now = {}
    for row in rows:
        if int(row["new_pstate"]) >= 0:
            now = now | dict.fromkeys(parse_interval_set(row["machine_id"]), row["new_pstate"])
            yield float(row["time"]), now


def test_every_core_is_at_any_time_in_the_pstate_that_was_recorded(case):
    if not (case[0] / "out_pstate_changes.csv").exists():
        pytest.skip("not recorded")
    recorded, ours = (changes(pstates(table(folder / "out_pstate_changes.csv"))) for folder in case)
    assert ours == recorded


def test_the_energy_used_until_each_job_ends_is_as_recorded(case):
    sides = [[row for row in table(folder / "out_consumed_energy.csv") if row["event_type"] == "e"] for folder in case]
    for column in ("time", "energy"):
        recorded, ours = ([float(row[column]) for row in rows] for rows in sides)
        assert ours == pytest.approx(recorded, rel=CLOSE, abs=CLOSE)


def joined(spans):
    """Join spans that touch, drop empty ones."""
    found = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1] + CLOSE:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif end - begin > CLOSE:
            found.append((begin, end))
    return found


def test_processors_are_short_of_bandwidth_when_the_original_saw_it(case):
    recorded, ours = (json.loads((folder / "overutilizations.json").read_text())["mem_bw"] for folder in case)
    assert ours["nb_procs"] == recorded["nb_procs"]
    spans = [
        {int(p): joined((begin, begin + length) for begin, length in own["values"]) for p, own in side["procs"].items()}
        for side in (recorded, ours)
    ]
    spans = [{p: own for p, own in side.items() if own} for side in spans]
    assert spans[0].keys() == spans[1].keys()
    for p, own in spans[0].items():
        assert sum(spans[1][p], ()) == pytest.approx(sum(own, ()), abs=1e-5)


@pytest.mark.parametrize("lack", ["core", "mem"])
def test_jobs_lack_cores_or_memory_when_the_original_saw_it(case, lack):
    recorded, ours = (json.loads((folder / "overutilizations.json").read_text())[lack] for folder in case)
    for time in recorded:
        assert any(begin - 1e-5 <= time <= end + 1e-5 for begin, end in ours), time
    for begin, _ in ours:  # each span begins at a conflict that the original saw
        assert any(abs(time - begin) < 1e-5 for time in recorded), begin
