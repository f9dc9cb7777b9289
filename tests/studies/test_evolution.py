"""Evolution: what costs less wins, whatever ends the process it goes on as if nothing had happened."""

import json

import numpy as np
import pytest
from robust_inputs import refused

from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.studies.evolution.options import BOTH_WAYS, OF_CORES, read_evolution
from hdeeprm_like.studies.evolution.search import (
    BEST,
    BROKEN,
    COSTS,
    Search,
    costs_of,
    log_ratios,
    ratios_on,
    weights_in,
    with_weights,
)
from hdeeprm_like.studies.evolution.windows import VALIDATION, window_of

pytest.importorskip("cmaes")

BEGIN = {
    "queue": {"log_time": -0.5, "log_cores": 0.0},  # longest first, which can be bettered
    "exact": {"queue": {"log_time": -0.5, "log_cores": 0.0}, "keep": {"deviations": 0.5, "bins": 1, "most": 0.0}},
}
SAME = dict.fromkeys(OF_CORES, 1.0) | {  # figures of a reference
    "bounded_slowdown": 10.0, "bounded_slowdown_p95": 9.0, "wait": 100.0, "wait_max": 900.0, "utilization": 0.8
}  # fmt: skip
OPTIONS = {
    "seed": 3,
    "policy": "begin.json",
    "reference": "sjf+easy",
    "generations": 5,
    "population": 4,
    "spread": 0.3,
    "validate_every": 2,
    "windows": {
        "jobs": 60,
        "per_generation": 2,
        "validation": 3,
        "sources": [
            {"model": "lublin", "cores": 16, "load": [0.9, 1.1]},
            {"model": "lublin", "cores": 16, "estimates": "tsafrir", "users": 3, "wide": 2, "load": [0.9, 1.1]},
        ],
    },
}


class InThisProcess:
    """An engine that calls at once; the last call comes in first."""

    workers = 1

    def submit(self, function, calls):
        """Call."""
        self.values = [function(*call) for call in calls]

    def results(self):
        """What was returned."""
        yield None
        yield from reversed(list(enumerate(self.values)))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "begin.json").write_text(json.dumps(BEGIN))
    changed(tmp_path)
    return tmp_path


def changed(folder, **changes):
    """Write the options with some changes; return their file."""
    (folder / "exp.json").write_text(json.dumps(OPTIONS | changes))
    return folder / "exp.json"


def run(folder, output, most=None):
    """Run some generations, or all that are left."""
    output.mkdir(exist_ok=True)
    search = Search(read_evolution(folder / "exp.json"), folder, output)
    for done, _ in enumerate(search.run(InThisProcess()), 1):
        if done == most:
            break
    return search


# searches for 10 s; that it goes on bit for bit stays
@pytest.mark.more
def test_what_is_found_is_better_than_what_it_began_with(folder):
    options = run(folder, folder / "out").options
    best = folder / "out" / BEST
    numbers = range(VALIDATION, VALIDATION + 8)
    name, found = f"scored:{folder / 'begin.json'}", f"scored:{best}"
    begun, ended = (
        costs_of(options, np.array([ratios_on(options, folder, n, one, [[]]) for n in numbers]), np.array(numbers) % 2)
        for one in (name, found)
    )
    assert ended < begun


def test_a_process_that_was_killed_goes_on_bit_for_bit_with_the_policy_that_it_began_with(folder):
    run(folder, folder / "whole")
    part = folder / "part"
    run(folder, part, most=3)
    (part / COSTS).write_text((part / COSTS).read_text() + '{"generation": 4, "co')  # killed while it was writing
    (folder / "begin.json").write_text('{"queue": {"log_time": 5.0, "log_cores": 5.0}}')
    run(folder, part)
    for name in (COSTS, BEST):
        assert (part / name).read_bytes() == (folder / "whole" / name).read_bytes()


def test_windows_are_the_same_for_the_same_number_and_others_for_others(folder):
    options = read_evolution(folder / "exp.json")
    (_, one), (_, again), (wide, other) = (window_of(options, folder, number) for number in (0, 0, 1))
    assert one.submit.tolist() == again.submit.tolist()
    assert one.submit.tolist() != other.submit.tolist()
    assert wide.cores == 32
    assert (other.size % 2 == 0).all()
    assert (other.requested_time >= other.delay).all()
    assert len(set(other.user.tolist())) == 3
    work = float((one.delay * one.size).sum() / (one.submit[-1] * 16))
    assert 0.85 < work < 1.15  # the load, but for whole seconds


def test_all_weights_of_a_file_are_found_and_written_back_or_those_of_one_stage():
    weights, values = weights_in(BEGIN)
    assert [".".join(weight.path) for weight in weights] == [
        "queue.log_time", "queue.log_cores", "exact.queue.log_time", "exact.queue.log_cores",
        "exact.keep.deviations", "exact.keep.most",
    ]  # fmt: skip
    new = with_weights(BEGIN, weights, values + 1.0)
    assert new["exact"]["keep"] == {"deviations": 1.5, "bins": 1, "most": 1.0}
    assert BEGIN["exact"]["keep"]["most"] == 0.0
    usual, exact, both = (weights_in(BEGIN, stage)[0] for stage in ("usual", "exact", "both"))
    assert {weight.path[0] for weight in usual} == {"queue"}
    assert {weight.path[0] for weight in exact} == {"exact"}
    assert usual + exact == both == weights


PLACED = {"queue": {"log_time": 1.0, "placement": 0.0}, "placement": {"speed": 1.0, "power*log_cores": 0.0}}
MACHINE = {"clusters": [{"id": "c", "nodes": [{"type": "Test0", "number": 4}, {"type": "Example", "number": 4}]}]}


def placed_options(folder, **source):
    """An evolution of a placement, which begins with the slowest cores, on a machine of three kinds of processors."""
    link = {"type": "InfiniBand QDR", "latency": "0us"}
    MACHINE["clusters"][0]["local_links"], MACHINE["global_links"] = link, link
    (folder / "machine.json").write_text(json.dumps(MACHINE))
    (folder / "begin.json").write_text(json.dumps(PLACED))
    source = {"model": "lublin", "platform": "machine.json", "cores": 8, "load": [0.7, 0.7]} | source
    windows = OPTIONS["windows"] | {"jobs": 40, "sources": [source]}
    changed(folder, objective={"energy_delay_product": 1.0, "turnaround": 1.0}, windows=windows)


def test_a_placement_is_searched_for_with_the_order(folder):
    weights, values = weights_in(PLACED)
    names = ["queue.log_time", "queue.placement", "placement.speed", "placement.power*log_cores"]
    assert [".".join(weight.path) for weight in weights] == names
    assert with_weights(PLACED, weights, values + 1.0)["placement"] == {"speed": 2.0, "power*log_cores": 1.0}
    placed_options(folder)
    options, name = read_evolution(folder / "exp.json"), f"scored:{folder / 'begin.json'}"
    slow, fast = (list(zip(weights, [1.0, 0.0, speed, 0.0], strict=True)) for speed in (1.0, -1.0))
    own, again, other = np.array(ratios_on(options, folder, 0, name, [[], slow, fast]))
    assert own.tolist() == again.tolist()
    assert other[BOTH_WAYS.index("turnaround")] < own[BOTH_WAYS.index("turnaround")]


def test_windows_may_be_of_a_machine_with_memory_bandwidth_and_gpus(folder):
    placed_options(folder, platform="mixed-gpus", cores=64, gpu_jobs=0.5)
    options = read_evolution(folder / "exp.json")
    (machine, jobs), (_, again), (_, other) = (window_of(options, folder, number) for number in (0, 0, 1))
    assert machine.processors == 80
    assert jobs.submit.tolist() == again.submit.tolist() != other.submit.tolist()
    assert jobs.bandwidth.min() > 0
    assert (jobs.ops > 0).all()
    assert 10 < (jobs.gpus > 0).sum() < 30
    load = (jobs.ops / machine.reference_flops * jobs.size).sum() / (jobs.submit[-1] * machine.cores)
    assert load == pytest.approx(0.7, rel=0.01)


def test_windows_of_a_trace_on_a_machine_are_of_its_part(folder):
    placed_options(folder, platform="gaia", trace="gaia", model=None, cores=None, begin=0.5, end=0.51, step=7)
    machine, jobs = window_of(read_evolution(folder / "exp.json"), folder, 0)
    numbers = [int(one.partition("!")[2]) for one in jobs.ids]
    assert (machine.cores, len(jobs), jobs.submit[0]) == (2280, 40, 0.0)
    assert 25_000 < min(numbers) < max(numbers) < 27_000


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"wide": 2}, "wide: is for pools, not for a platform"),
        ({"platform": None, "gpu_jobs": 0.5}, "gpu_jobs: is for the jobs of a model on a platform"),
    ],
)
def test_sources_that_make_no_sense_are_refused(folder, source, message):
    placed_options(folder, **source)
    with pytest.raises(OptionsError, match=message):
        read_evolution(folder / "exp.json")


def test_a_stage_that_is_not_searched_stays_as_it_is(folder):
    changed(folder, stage="exact", generations=2)
    run(folder, folder / "out")
    best = json.loads((folder / "out" / BEST).read_text())
    assert best["queue"] == BEGIN["queue"]
    assert best["exact"]["queue"] != BEGIN["exact"]["queue"]


def test_waits_and_utilization_cost_only_where_a_source_is_worse(folder):
    options = read_evolution(folder / "exp.json").model_copy(
        update={"objective": {"bounded_slowdown": 1.0, "wait": 2.0, "utilization": 3.0}}
    )
    same = SAME

    def cost(*windows, sources=None):
        ratios = np.array([[log_ratios(same | changes, same)] for changes in windows])
        (found,) = costs_of(options, ratios, np.array(sources or [0] * len(windows)))
        return found

    assert cost({}) == 0.0
    assert cost({"bounded_slowdown": 5.0}) == pytest.approx(np.log(0.5))
    assert cost({"wait": 200.0}) == pytest.approx(2 * np.log(2))
    assert cost({"wait": 50.0, "utilization": 0.9}) == 0.0
    assert cost({"utilization": 0.4}) == pytest.approx(3 * np.log(2))
    assert cost({"wait": 200.0}, {"wait": 50.0}) == pytest.approx(0.0)  # one window of a source pays for another
    assert cost({"wait": 200.0}, {"wait": 50.0}, sources=[0, 1]) == pytest.approx(np.log(2))  # a source does not

    options = options.model_copy(update={"allowed": {"wait": 1.5, "utilization": 0.5}})
    assert cost({"wait": 150.0, "utilization": 0.4}) == pytest.approx(0.0)
    assert cost({"wait": 300.0, "utilization": 0.2}) == pytest.approx(2 * np.log(2) + 3 * np.log(2))


def test_a_candidate_that_breaks_a_constraint_is_worse_than_all_that_keep_it(folder):
    options = read_evolution(folder / "exp.json").model_copy(
        update={"objective": {"bounded_slowdown": 1.0}, "constraints": {"wait": 1.5, "utilization": 0.5}}
    )
    same = SAME
    candidates = [{"wait": 149.0, "bounded_slowdown": 900.0}, {"wait": 160.0}, {"wait": 300.0, "utilization": 0.2}]
    ratios = np.array([[log_ratios(same | changes, same) for changes in candidates]])
    costs = costs_of(options, ratios, np.zeros(1, np.int64))
    assert costs == pytest.approx([np.log(90), BROKEN + np.log(1.6 / 1.5), BROKEN + np.log(2) + np.log(2)])


def test_windows_of_validation_may_be_longer(folder):
    windows = OPTIONS["windows"] | {"validation_jobs": 90}
    options = read_evolution(changed(folder, windows=windows))
    assert [len(window_of(options, folder, n)[1]) for n in (0, VALIDATION, VALIDATION + 1)] == [60, 90, 90]


def test_what_is_found_says_where_it_comes_from(folder):
    hand = {"command": "written by hand"}
    (folder / "begin.json").write_text(json.dumps(BEGIN | {"made_by": hand}))
    changed(folder, generations=2)
    run(folder, folder / "out")
    made = json.loads((folder / "out" / BEST).read_text())["made_by"]
    assert made["begun_with"] == hand
    assert made["seed"] == OPTIONS["seed"]
    assert made["chosen"] == "generation 2 of 2 by 3 windows of 60 jobs"
    assert made["traces"] == "lublin batch, exact requests, lublin batch, tsafrir requests"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"windows": {"sources": []}}, "windows.sources"),
        ({"windows": {"sources": [{}]}}, "either trace or model is needed"),
        ({"windows": {"sources": [{"model": "lublin"}]}}, "cores: are missing"),
        ({"windows": {"sources": [{"trace": "a.swf", "begin": 0.5, "end": 0.4}]}}, "end: 0.4 is not after begin"),
        ({"objective": {"speed": 1.0}}, "'speed' is not known"),
        ({"allowed": {"speed": 1.0}}, "allowed: 'speed'"),
        ({"allowed": {"wait": 0.0}}, "ratios above 0 are needed"),
        ({"constraints": {"bounded_slowdown": 0.9}}, "constraints: 'bounded_slowdown'"),
        ({"stage": "third"}, "stage"),
        ({"generation": 3}, "generation"),
        ({"population": 1}, "population"),
    ],
)
def test_options_that_make_no_sense_are_refused_in_one_line(folder, changes, message):
    with pytest.raises(OptionsError, match=r"exp\.json") as caught:
        read_evolution(changed(folder, **changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_says_what_is_wrong(folder, monkeypatch):
    monkeypatch.chdir(folder)
    line, out = ["train", "--method", "evolution", "-q", "-o", "exp.json"], folder / "train-exp"
    changed(folder, policy="none.json")
    assert "none.json: no such file" in refused(*line)
    out.mkdir(exist_ok=True)
    (out / "run.json").write_text("{}")
    assert "go on with --resume" in refused(*line)
    assert "--seed: set it in the options file" in refused(*line, "--seed", "4")
    (out / "run.json").write_text('{"method": "evolution"}')
    assert "is of no evolution" in refused("train", "-q", "--resume", out)
    (out / COSTS).write_text("nonsense\n")
    with pytest.raises(ResultsError, match="is no table of costs"):
        Search(read_evolution(changed(folder)), folder, out)
