"""What an agent that chooses nodes is shown of jobs that have waited, on paper."""

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
