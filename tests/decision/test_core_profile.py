"""The availability profile is what a list of the free cores in each second says."""

from hypothesis import example, given
from hypothesis import strategies as st

from hdeeprm_like.decision.policies.core_profile import (
    begin_profile,
    earliest,
    first_from,
    is_free_until,
    latest,
    new_profile,
    occupy,
)

CORES, SECONDS = 10, 60
SPANS = st.tuples(st.integers(-5, 20), st.integers(1, 12), st.integers(-3, 4))  # begin, seconds, cores


@given(st.lists(SPANS, max_size=8), st.integers(1, 11), st.integers(1, 9), st.integers(0, 25))
@example([(-5, 2, 3)], 10, 1, 0)  # all of it is past
@example([(-5, 7, 3)], 8, 1, 0)  # it has begun before the profile
def test_a_profile_answers_as_a_list_of_seconds_does(spans, cores, time, date):
    profile, free = new_profile(len(spans)), [CORES] * SECONDS
    begin_profile(profile, 0.0, CORES)
    for begin, seconds, taken in spans:
        occupy(profile, float(begin), float(begin + seconds), taken)
        for second in range(max(begin, 0), max(begin + seconds, 0)):
            free[second] -= taken
    slices = [first_from(profile, second + 1.0) - 1 for second in range(SECONDS)]
    assert [profile.slices["free"][i] for i in slices] == free
    assert profile.slices["time"][profile.count[0]] == float("inf")
    fits = [second for second in range(40) if min(free[second : second + time]) >= cores]
    assert earliest(profile, cores, time, date) == min((s for s in fits if s >= date), default=float("inf"))
    assert latest(profile, cores, time, date) == max((s for s in fits if s <= date), default=float("-inf"))
    assert is_free_until(profile, cores, float(date)) == (min(free[: max(date, 1)]) >= cores)
