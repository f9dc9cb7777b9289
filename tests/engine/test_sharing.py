"""Capacities shared among tasks, round by round, on paper."""

from hdeeprm_like.engine.sharing import new_problem, share

# units per second of each capacity, and the tasks that use it, a unit of each for a unit of their work
CAPACITIES = [(10.0, [0]), (18.0, [1, 2, 3]), (1.0, [2]), (7.0, [3])]
LIMITS = [1.0, 0.0, 0.0, 0.0]  # of each task, 0 for none


def test_what_some_tasks_leave_is_shared_anew_among_those_that_may_still_grow():
    # first 0 reaches its own limit, 1 and 3 have a third of 18 and 2 the only unit of the third capacity; then 1 has
    # half of the 5 that are left and 3 the seventh unit of its own. What 2 took counts in that round again, as in
    # SimGrid, so that half a unit is left, which 1 has in the last
    problem = new_problem(len(CAPACITIES), len(LIMITS), sum(len(tasks) for _, tasks in CAPACITIES))
    problem.size["constraints"], problem.size["variables"] = len(CAPACITIES), len(LIMITS)
    problem.variables["bound"] = LIMITS
    used = 0
    for capacity, (bound, tasks) in enumerate(CAPACITIES):
        problem.constraints["bound"][capacity], problem.constraints["first"][capacity] = bound, used
        for task in tasks:
            problem.uses[used] = (1.0, 1.0, 1, task)
            used += 1
    problem.constraints["first"][len(CAPACITIES)] = problem.size["uses"] = used
    share(problem)
    assert problem.variables["value"].tolist() == [1.0, 9.0, 1.0, 7.0]
