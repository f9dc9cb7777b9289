"""``watch``: a training that goes on, in a terminal."""

import json

import numpy as np
from robust_inputs import printed, refused

from hdeeprm_like.results.watching import BARS, WIDTH, rows_of, spark, watch


def left(folder, rewards, status="training", more=""):
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(json.dumps({"status": status, "runs": 50}))
    lines = ["episode,decisions,reward", *(f"{number},20,{reward}" for number, reward in enumerate(rewards, 1))]
    (folder / "progress.csv").write_text("\n".join(lines) + "\n" + more)
    return folder


def test_a_training_is_shown_until_it_ends(tmp_path):
    folder, shown, pauses = left(tmp_path / "run", [1.0, 2.0]), [], []

    def pause():
        pauses.append(None)
        left(folder, [1.0, 2.0, 5.0, 4.0], "complete" if len(pauses) == 2 else "training")

    watch(folder, shown.append, pause)
    assert len(pauses) == 2
    assert shown[0].splitlines()[0] == f"{folder}: training, episode 2 of 50"
    assert shown[2].splitlines()[0] == f"{folder}: complete, episode 4 of 50"
    assert "last 4, mean of 4 3, best 5" in shown[2]


def test_a_line_that_is_being_written_is_left_for_the_next_look(tmp_path):
    folder = left(tmp_path / "run", [1.0, 2.0], more="3,20,7")
    assert [row["reward"] for row in rows_of(folder / "progress.csv")] == ["1.0", "2.0"]


def test_bars_rise_with_the_values_and_are_few():
    assert spark(np.array([0.0, 7.0, 3.0])) == BARS[0] + BARS[7] + BARS[3]
    assert spark(np.full(3, 2.0)) == 3 * BARS[0]
    many = spark(np.arange(1000.0))
    assert len(many) == WIDTH
    assert list(many) == sorted(many)


def test_one_look_prints_the_last_evaluation_too(tmp_path):
    folder = left(tmp_path / "run", [1.0])
    (folder / "evaluations.csv").write_text("episode,reward,mean_slowdown\n0,-3,5\n10,-2,4\n")
    told = printed("watch", folder, "--once").splitlines()
    assert told[-1] == "evaluated: episode 10, reward -2, mean slowdown 4"
    for line in ("1,2,3,4\n", "1," + "9" * 200_000 + "\n"):
        (folder / "evaluations.csv").write_text("episode,reward\n" + line)
        refused("watch", folder, "--once")


def test_what_is_no_training_is_refused_in_one_line(tmp_path):
    assert "has no run.json; name the folder of a training" in refused("watch", tmp_path, "--once")
    assert "a number of seconds from 0.1 to 3600 is needed" in refused("watch", tmp_path, "--every", "0")
