"""R12: how long episodes are while agents learn from all jobs, or from those within reach."""

import numpy as np

from hdeeprm_like.results.pictures import BLUE, ORANGE, picture
from hdeeprm_like.studies.reproduction.measures.learning import progress, trained_each
from hdeeprm_like.studies.reproduction.place import Findings, Place

FULL = {"training": {"episodes": 6000}}  # 3e5 decisions and more


def measure(place: Place) -> Findings:
    """Train with both rewards."""
    lengths = {
        name: np.array([progress(agent, "decisions") for agent in trained_each(place, name, FULL)])
        for name in ("all", "window")
    }
    last = {name: rows[:, -rows.shape[1] // 3 :] for name, rows in lengths.items()}
    with picture(place.folder / "lengths.svg") as figure:
        axes = figure.subplots()
        for (name, rows), colour in zip(lengths.items(), (ORANGE, BLUE), strict=True):
            for row in rows:
                axes.plot(row, ".", markersize=3, color=colour, alpha=0.4)
            axes.plot([], [], ".", color=colour, label=f"rewards from {name}")
        axes.set_xlabel("episode")
        axes.set_ylabel("decisions")
        axes.legend()
    return Findings(
        {
            "length": last["all"].mean(axis=1) / last["window"].mean(axis=1),
            "spread": last["all"].std(axis=1) / last["window"].std(axis=1),
        }
    )
