"""When Batsim 5 still reports the end of a walltime that Batsim 4 reports with what happens just before, on paper."""

from hdeeprm_like.batsim.walltime_ends import WalltimeEnds


def test_a_walltime_that_ends_just_behind_an_arrival_is_awaited_and_later_ones_are_not():
    ends = WalltimeEnds()
    ends.message(10.0, {"first": 5.0, "second": 20.0}, [])
    ends.start(["first"], 0, 10.0)
    assert not ends.awaited()
    ends.message(15.0, {}, [])  # a job comes, and 1e-10 s later the first has reached its walltime
    assert ends.awaited()
    ends.message(15.0 + 1e-10, {}, ["first"])
    ends.start(["second"], 0, 15.0)
    assert not ends.awaited()
    ends.message(30.0, {}, [])  # five seconds before the walltime of the second
    assert not ends.awaited()
    ends.message(35.0, {}, [])
    assert ends.awaited()
