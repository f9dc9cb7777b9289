"""How long a run takes as plain Python, so that a short one need not wait for the compiler (see `first_use`)."""

from math import inf

from hdeeprm_like.decision.actions import Policy
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policy_words import is_scored
from hdeeprm_like.engine.numbers import FIRST_CHANGING, FIRST_PREDICTED, ORDERS, RUN_TIMES

MODES = ("strict", "greedy", "easy", "easyfcfs", "easysjf", "reserve")  # the others take ever longer in long queues
NAMED, COUNTED = 0.003, 0.0005  # s for a job on cores that have names, as Gaia's 2,280, and on cores that are counted
CHANGING = 0.002  # s more for a job under an order that changes with time
RANDOM, OF_A_CORE = 0.001, 2e-6  # s more for a job on random cores, and for each core of the machine


def seconds_for_a_job(policy: Policy, cores: int, named: bool) -> float:
    """Return what simulating a job takes as plain Python, in s, rather too much than too little.

    Args:
        cores: of the machine. named: whether the simulation knows which core is which.

    Returns:
        Infinite for policies that are compiled first: learned or predicting ones, one's own, and those in other modes.
    """
    seconds = NAMED if named else COUNTED
    if isinstance(policy, Baseline):
        placement = policy.placement
        times = max(RUN_TIMES.get(name, FIRST_PREDICTED) for name in (policy.order_times, policy.times))
        if policy.mode not in MODES or policy.order not in ORDERS or times >= FIRST_PREDICTED or is_scored(placement):
            return inf
        seconds += CHANGING if ORDERS[policy.order] >= FIRST_CHANGING else 0.0
    else:
        job, placement = policy
        if not isinstance(job, str):
            return inf
    return seconds + (RANDOM + cores * OF_A_CORE if placement == "random" else 0.0)
