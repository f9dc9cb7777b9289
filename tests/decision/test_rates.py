"""Cost and CO2 as objectives: power times a value that changes with the time."""

import json
from pathlib import Path

import numpy as np
import pytest
from paper_clusters import cluster, jobs
from roll_outs import batched, one_by_one, rewards
from small import jobs as small_jobs
from test_launch import experiment_file

from hdeeprm_like.cli.main import main
from hdeeprm_like.decision.named_parts import objectives_named
from hdeeprm_like.decision.policy_words import beside
from hdeeprm_like.decision.rates import read_rates
from hdeeprm_like.engine.state import Instant, State
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.gym import environment, environments
from hdeeprm_like.options import read_options
from hdeeprm_like.results.power import at_rates
from hdeeprm_like.results.run_reader import open_run

NIGHT_AND_DAY = "time,value\n0,0.1\n7,0.4\n7.5,0\n13,0.3\n500,0.2\n"
BUSY, IDLE, ASLEEP = 80.0, 20.0, 4.0  # W of a core that serves a job, is idle beside one, or in an idle processor


@pytest.fixture
def tariff(tmp_path):
    """The path of a tariff that changes some times."""
    path = tmp_path / "tariff.csv"
    path.write_text(NIGHT_AND_DAY)
    return path


@pytest.mark.parametrize("clock", ["batsim", "textbook"])
@pytest.mark.parametrize("roll_out", [one_by_one, batched])
def test_each_moment_of_the_power_has_the_value_of_its_time(roll_out, clock, tariff):
    # two cores from 0 to 5, the node sleeps to 6, three cores to 13: 7 and 7.5 lie within the second job
    workload = jobs([0.0, 6.0], [5.0, 7.0], size=[2, 3])
    first, second = 2 * BUSY + 2 * IDLE, 3 * BUSY + IDLE
    wanted = [-(first * 5 + 4 * ASLEEP * 1) * 0.1, -second * (1.0 * 0.1 + 0.5 * 0.4)]
    found = rewards(roll_out, clock, f"cost:{tariff}", workload)
    assert found * 3.6e6 == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("clock", ["batsim", "textbook", "one-by-one"])
def test_a_value_that_never_changes_makes_it_the_energy_times_that_value(clock, tmp_path):
    (tmp_path / "flat.csv").write_text("time,value\n0,7.2\n3,7.2\n")
    workload = jobs([0.0, 1.0, 3.0], [5.0, 10.0, 2.0], size=[3, 4, 1])
    for mode in ("integral", "change", "sample", "discounted"):
        found, joules = (
            rewards(one_by_one, clock, one, workload, reward=mode)
            for one in (f"carbon:{tmp_path / 'flat.csv'}", "energy_consumption")
        )
        assert found == pytest.approx(joules * 2e-6, rel=1e-9)
        assert found.any()


def test_weights_of_several_add_up_and_beside_others_and_ones_own(tariff, tmp_path):
    (tmp_path / "coal.csv").write_text("time,value\n0,0.9\n2,0.5\n7,0.7\n")
    workload = jobs([0.0, 6.0, 9.0], [5.0, 7.0, 3.0], size=[2, 3, 4])
    weights = {f"cost:{tariff}": 3.6e6, f"carbon:{tmp_path / 'coal.csv'}": 1.8e6, "edp": 0.01}
    single = [rewards(one_by_one, "textbook", {one: weight}, workload) for one, weight in weights.items()]
    together = rewards(one_by_one, "textbook", weights, workload)
    assert together == pytest.approx(sum(single), rel=1e-12)
    own = {lambda state: float(len(state.running)): 2.0}
    beside_own = rewards(one_by_one, "textbook", weights | own, workload)
    assert beside_own == pytest.approx(together + rewards(one_by_one, "textbook", own, workload), rel=1e-12)


def test_a_discount_counts_each_second_with_the_value_that_it_has(tariff):
    # one decision at 0 for a job of 10 s on all cores, each second counted half of the one before
    found = rewards(one_by_one, "textbook", f"cost:{tariff}", jobs([0.0], 10.0, size=4), reward="discounted", gamma=0.5)

    def gained(begin, end):  # of 1 for each time step, as `rewards` counts parts of steps
        return (0.5**begin - 0.5**end) / 0.5

    assert found * 3.6e6 == pytest.approx([-4 * BUSY * (0.1 * gained(0, 7) + 0.4 * gained(7, 7.5))])


@pytest.mark.parametrize("mode", ["integral", "change"])
def test_environments_side_by_side_are_rewarded_as_single_ones_to_the_last_bit(mode, tariff):
    rng = np.random.default_rng(3)
    workload = small_jobs(np.sort(rng.uniform(0, 30, 12)), rng.uniform(1, 9, 12), rng.integers(1, 4, 12))
    how = {"platform": 4, "workload": workload, "objective": f"cost:{tariff}", "reward": mode, "clock": "textbook"}
    env, many = environment("PolicySelect", **how), environments(2, "PolicySelect", **how)
    for _ in range(2):  # the second episode begins with the first value again
        env.reset(seed=1)
        many.reset(seed=1)
        seen, over = [], False
        while not over:
            _, reward, over, _, _ = env.step(len(seen) % 3)
            _, both, *_ = many.step(np.full(2, len(seen) % 3))
            assert both.tolist() == [reward, reward]
            seen.append(reward)
        assert len(set(seen)) > 3


def test_the_rewards_of_a_launch_add_up_to_its_metrics(tmp_path, tariff):
    options = experiment_file(tmp_path, "first-high_gflops")
    content = json.loads(options.read_text())
    content["pybatsim"]["env"] = {"objective": {"cost:tariff.csv": 1.0}, "reward": "integral"}
    options.write_text(json.dumps(content))
    folder = tmp_path / "run"
    assert main(["launch", "-q", "-o", str(options), "--output", str(folder), "--log-decisions"]) == 0
    reward = float((folder / "rewards.log").read_text())
    assert -reward == pytest.approx(at_rates(open_run(folder), read_rates(tariff)), rel=1e-6)
    assert reward < 0.0
    again = json.loads((folder / "options.json").read_text())["pybatsim"]["env"]["objective"]
    assert again == {f"cost:{tariff}": 1.0}


def test_as_a_function_of_a_state_it_is_what_the_power_costs_now(tariff):
    (cost,) = objectives_named("cost:tariff.csv", tariff.parent)
    state = State(cluster(processors=((0, 4, 4.0, BUSY),)), jobs([0.0], 5.0))
    for now, value in ((0.0, 0.1), (7.0, 0.4), (7.25, 0.4), (600.0, 0.2)):
        state.receive(Instant(now, [], 0, False))
        assert cost(state) * 3.6e6 == pytest.approx(-4 * ASLEEP * value)


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ("cost", "objective 'cost' needs a file of times and values, as 'cost:tariff.csv'"),
        ("carbon:", "objective 'carbon' needs a file"),
        ("cost:none.csv", "none.csv: "),
        ("cost:wrong.csv", "wrong.csv:2: time: is 5; the first line must be of time 0"),
    ],
)
@pytest.mark.parametrize("logged", [["--log-decisions"], []])
def test_a_missing_or_wrong_file_is_one_line(logged, objective, message, tmp_path, capsys):
    (tmp_path / "wrong.csv").write_text("time,value\n5,1\n")
    with pytest.raises(OptionsError, match=message):
        objectives_named(objective, tmp_path)
    options = experiment_file(tmp_path, "first-high_gflops")
    content = json.loads(options.read_text())
    content["pybatsim"]["env"] = {"objective": objective}
    options.write_text(json.dumps(content))
    line = ["launch", "-q", "-o", str(options), "--output", str(tmp_path / "run"), *logged]
    assert main(line) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_the_end_of_an_episode_has_no_cost_objective(tariff):
    with pytest.raises(OptionsError, match=r"objective 'cost:.*' has no value at the end; take 'integral'"):
        environment("PolicySelect", platform=2, objective=f"cost:{tariff}", reward="end").reset(seed=0)


def test_files_of_objectives_are_named_from_the_folder_of_the_options(tmp_path):
    folder = Path("/experiments/one")
    content = {"objective": {"cost:t.csv": 1.0, "edp": 2.0}, "other": ["carbon:../c.csv", "cost", "costs:t.csv"]}
    wanted = {"cost:/experiments/one/t.csv": 1.0, "edp": 2.0}
    others = ["carbon:/experiments/one/../c.csv", "cost", "costs:t.csv"]
    assert beside(content, folder) == {"objective": wanted, "other": others}
    options = experiment_file(tmp_path)
    content = json.loads(options.read_text())
    content["pybatsim"]["env"] = {"objective": "cost:t.csv"}
    options.write_text(json.dumps(content))
    assert read_options(options).pybatsim.env.objective == f"cost:{tmp_path}/t.csv"
