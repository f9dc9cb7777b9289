"""Search with Ray Tune for hyperparameters of an agent with ASHA, which ends the trainings that lag behind.

pip install 'hdeeprm_like[learn]' 'ray[tune]'
python docs/tune_asha.py agents/smdp.json agents/ppo.py --trials 16 --episodes 256 512 1024 2048
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from ray import tune
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search import BasicVariantGenerator

SPACE = {"lr": tune.loguniform(1e-4, 1e-2), "entropy": tune.choice([0.0, 0.001, 0.01])}  # what is searched for
METRIC = "bounded_slowdown"


def trial(chosen, options, agent, episodes):
    """Train an agent with some hyperparameters; report its score on held-out episodes at intervals."""
    from hdeeprm_like.experiment import episodes_of, load_experiment
    from hdeeprm_like.launch.learned import MEASURES
    from hdeeprm_like.launch.learner import AgentChoice, Learner
    from hdeeprm_like.learning.training import Played, Training, evaluate

    experiment = load_experiment(options)
    section, pybatsim = experiment.options.training, experiment.options.pybatsim
    if section.prior or section.imitate or section.baseline or section.parts > 1:
        raise SystemExit(
            f"{options}: training: prior, imitate, baseline and parts are for the command train; leave them out"
        )
    pybatsim = pybatsim.model_copy(update={"agent": pybatsim.agent.model_copy(update=chosen)})
    experiment = replace(experiment, options=experiment.options.model_copy(update={"pybatsim": pybatsim}))
    learner = Learner(experiment, AgentChoice(agent))
    jobs, validation, _ = episodes_of(experiment)
    played, folder = Played(learner.plays(jobs, section.alike), learner.actions.names), Path.cwd()  # the trial's own
    judged = {"greedy": section.greedy, "seed": experiment.options.seed, "measures": MEASURES}
    for number in episodes:
        how = section.model_copy(update={"episodes": number, "steps": 0})
        Training(learner.agent, played, folder, how).run(resume=True, quiet=True, callbacks=())
        found = evaluate(learner.agent, learner.plays(validation), how.evaluation_episodes, **judged)
        tune.report({"episodes": number, METRIC: sum(found[METRIC]) / len(found[METRIC])})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("options", type=Path)
    parser.add_argument("agent", type=Path)
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--episodes", type=int, nargs="+", default=[256, 512, 1024, 2048])
    parser.add_argument("--output", type=Path, default=Path("tune"))
    given = parser.parse_args()
    first, last = given.episodes[0], given.episodes[-1]
    asha = ASHAScheduler("episodes", METRIC, "min", max_t=last, grace_period=first, reduction_factor=2)
    fixed = {"options": given.options.resolve(), "agent": str(given.agent.resolve()), "episodes": given.episodes}
    how = tune.TuneConfig(scheduler=asha, num_samples=given.trials, search_alg=BasicVariantGenerator(random_state=1))
    where = tune.RunConfig("asha", str(given.output.resolve()))
    found = tune.Tuner(tune.with_parameters(trial, **fixed), param_space=SPACE, tune_config=how, run_config=where).fit()
    found.get_dataframe().to_csv(given.output / "trials.csv", index=False)
    best = found.get_best_result(METRIC, "min")
    sys.stdout.write(f"{best.config}: {METRIC} {best.metrics[METRIC]:.4g} after {best.metrics['episodes']} episodes\n")
