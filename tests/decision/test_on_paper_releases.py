"""When a job that still runs is expected to end, called as policies call it, in plain Python alone."""

import numpy as np
import pytest

from hdeeprm_like.decision.policies.core_profile import OVERDUE, later_than_now
from hdeeprm_like.engine.dates import REPORTED_LATE
from hdeeprm_like.engine.plain import ENABLED

pytestmark = pytest.mark.skipif(not ENABLED, reason="calls functions that machine code alone calls")
AT_ONCE = float(np.nextafter(100.0, np.inf))


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (101.5, 101.5),
        (AT_ONCE, AT_ONCE),
        (100.0, AT_ONCE),
        (100.0 - REPORTED_LATE / 2, AT_ONCE),
        (100.0 - REPORTED_LATE, 100.0 + OVERDUE),
        (3.0, 100.0 + OVERDUE),
    ],
)
def test_at_100_s_a_job_that_should_have_ended_is_about_to_or_is_overdue_and_takes_a_second(end, expected):
    assert later_than_now(end, 100.0) == expected
