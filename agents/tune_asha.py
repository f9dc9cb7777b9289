"""Let Ray Tune search for hyperparameters of an agent, with ASHA, which ends those trainings early that lag behind.

    pip install 'hdeeprm_like[learn]' 'ray[tune]'
    python agents/tune_asha.py agents/ppo.json agents/ppo.py --trials 16 --episodes 256 512 1024 2048

Every trial trains one agent on one processor. After each number of ``--episodes`` it plays the evaluation episodes of
the options file, and goes on if its bounded slowdown is among the better half of those that have come so far. What is to
change until the end of a training (``lr_end``, ``entropy_end``) would end at each of these numbers: leave it out. What is
searched for is in `SPACE`: edit it. All trials are in ``trials.csv``; what each has learned is in a folder of Ray's.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ray import tune
from ray.tune.schedulers import ASHAScheduler

SPACE = {"lr": tune.loguniform(1e-4, 1e-2), "entropy": tune.choice([0.0, 0.001, 0.01])}
METRIC = "bounded_slowdown"


def trial(config: dict[str, Any], options: Path, agent: str, episodes: list[int]) -> None:
    """Train an agent with some hyperparameters, and tell Ray Tune how good it is after so many episodes each."""
    from hdeeprm_like.experiment import episodes_of, load_experiment
    from hdeeprm_like.launch.learned import MEASURES
    from hdeeprm_like.launch.learner import AgentChoice, Learner
    from hdeeprm_like.launch.resuming import training_options
    from hdeeprm_like.learning.training import evaluate, train

    experiment = load_experiment(options)
    pybatsim = experiment.options.pybatsim
    section = type(pybatsim.agent).model_validate(pybatsim.agent.model_dump(exclude_unset=True) | config)
    chosen = experiment.options.model_copy(update={"pybatsim": pybatsim.model_copy(update={"agent": section})})
    learner = Learner(replace(experiment, options=chosen), AgentChoice(agent))
    jobs, validation, _ = episodes_of(experiment)
    plays, folder = learner.plays(jobs, chosen.training.alike), Path.cwd()  # of the trial
    for number in episodes:
        how = training_options(learner.experiment, number, None)
        train(learner.agent, plays, learner.actions.names, folder, how, resume=True, quiet=True, tensorboard=False)
        found = evaluate(learner.agent, learner.plays(validation), how.evaluation_episodes, measures=MEASURES)
        tune.report({"episodes": number, METRIC: sum(found[METRIC]) / len(found[METRIC])})


def main() -> None:
    """Search, and print the best hyperparameters."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("options", type=Path)
    parser.add_argument("agent", type=Path)
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--episodes", type=int, nargs="+", default=[256, 512, 1024, 2048])
    parser.add_argument("--output", type=Path, default=Path("tune"))
    given = parser.parse_args()
    grace, most = given.episodes[0], given.episodes[-1]
    asha = ASHAScheduler("episodes", METRIC, "min", max_t=most, grace_period=grace, reduction_factor=2)
    fixed = tune.with_parameters(
        trial, options=given.options.resolve(), agent=str(given.agent.resolve()), episodes=given.episodes
    )
    how = tune.TuneConfig(scheduler=asha, num_samples=given.trials)
    where = tune.RunConfig("asha", str(given.output.resolve()))
    found = tune.Tuner(fixed, param_space=SPACE, tune_config=how, run_config=where).fit()
    found.get_dataframe().to_csv(given.output / "trials.csv", index=False)
    best = found.get_best_result(METRIC, "min")
    sys.stdout.write(f"{best.config}: {METRIC} {best.metrics[METRIC]:.4g} after {best.metrics['episodes']} episodes\n")


if __name__ == "__main__":
    main()
