"""R13: agents that learn with exact and with Gaussian estimates, under errors of growing size."""

import numpy as np

from hdeeprm_like.cluster.synthetic.estimates import Gaussian, estimate_workload
from hdeeprm_like.experiment import episodes_of, load_experiment
from hdeeprm_like.studies.reproduction.measures.learning import played, trained_each
from hdeeprm_like.studies.reproduction.place import Findings, Place

NUS = (0.0, 0.5, 1.0, 1.5, 2.0)
EPISODES = 200
FULL = {"training": {"steps": 3_000_000}}


def measure(place: Place) -> Findings:
    """Train three agents in each environment, and evaluate them under all errors."""
    found, table = Findings(), []
    for environment in ("short", "long"):
        experiment = load_experiment(place.options(f"{environment}-exact"))
        _, _, jobs_of = episodes_of(experiment)
        slowdowns = {}
        for learned in ("exact", "over", "under"):
            agents = trained_each(place, f"{environment}-{learned}", FULL)
            for nu in NUS:
                rows = []
                for number in range(EPISODES):
                    rng = np.random.default_rng([number, round(10 * nu)])
                    jobs = estimate_workload(jobs_of(number), Gaussian(nu, "under"), rng)
                    own = [played(agent, experiment.platform, jobs) for agent in agents]
                    rows.append(np.mean([np.mean(1.0 + one.wait / one.run_time) for one in own]))
                slowdowns[learned, nu] = np.array(rows)
            table.append([environment, learned, *(f"{slowdowns[learned, nu].mean():.3f}" for nu in NUS)])
        noisy = slowdowns["under", 2.0] - slowdowns["exact", 2.0]
        if environment == "short":
            found.values |= {"noisy": noisy, "grows": slowdowns["exact", 2.0] - slowdowns["exact", 0.0]}
        else:
            found.values["long"] = noisy
    found.table("Mean slowdown under under-estimates", ["jobs", "learned with", *(f"nu {nu:g}" for nu in NUS)], table)
    return found
