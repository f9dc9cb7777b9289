"""What an agent that chooses nodes is shown, and which cores its jobs get, on paper."""

import numpy as np
import pytest
from small import jobs
from test_views import cores, playing, seen


def test_machines_show_how_long_jobs_have_waited():
    # of one core the first job has nine seconds, the longest request; the others, of 3 s, have come at 1 and at 5
    play = playing(cores(1), jobs([0, 1, 5], seconds=[9, 3, 3]), "machines", machines=True)
    shown = seen(play, 0, 2, 2)  # it waits at 1 and at 5
    assert play.system.state.now == 9.0
    assert shown[3:10:5] == pytest.approx([np.log(4) / np.log(10)] * 2)
    assert shown[4:10:5] == pytest.approx([np.log(9) / np.log(10), np.log(5) / np.log(10)])


def test_each_job_gets_the_lowest_free_cores_of_its_node():
    play = playing(cores(6), jobs([0, 0, 0], seconds=[9, 9, 3], size=[1, 3, 2]), "machines", machines=True)
    seen(play, 0, 0)
    play.act(0)
    assert [play.system.state.cores_of(j).tolist() for j in range(3)] == [[0], [1, 2, 3], [4, 5]]
