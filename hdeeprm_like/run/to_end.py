"""Running a simulation to its end under one policy, in compiled code wherever the policy is ours."""

from collections.abc import Iterator

import numpy as np

from hdeeprm_like.decision.actions import Choices, PolicyActions
from hdeeprm_like.decision.system import Core, no_reward
from hdeeprm_like.decision.window.window import NoJobWindow
from hdeeprm_like.run.loop import OVER, NoView, Run, advance
from hdeeprm_like.run.python_loop import run_in_python
from hdeeprm_like.run.simulator import Simulator

INSTANTS = 1000  # between two looks at the progress


def run_policy(simulator: Simulator, policies: PolicyActions, action: int = 0) -> Iterator[int]:
    """Run to the end under one policy; yield now and then how many jobs are over.

    Raises:
        OptionsError: the policy looks at actual run times, which nobody knows.
        ValueError: the state does not keep the lists of jobs that it looks at.
    """
    if policies.built_in:
        yield from run_choices(simulator, policies.choices(simulator.state, constant=action))
    else:
        yield from run_in_python(simulator, policies, action)


def run_choices(simulator: Simulator, choices: Choices) -> Iterator[int]:
    """Run to the end by the constant action of some choices; yield now and then how many jobs are over."""
    state, run = simulator.state, constant_run(simulator, choices)
    state.make_room()
    while advance(run, INSTANTS) != OVER:
        state.make_room()
        yield simulator.over
    yield simulator.over


def constant_run(simulator: Simulator, choices: Choices) -> Run:
    """Return a run of which nothing is seen and in which the constant action of some choices is taken."""
    state = simulator.state
    return Run(
        core=Core(state.tables, NoJobWindow(state).arrays, no_reward()),
        simulation=simulator.simulation,
        clock=simulator.clock,
        observer=NoView(np.zeros(0)),
        choices=choices,
        observation=np.zeros(0, np.float32),
        mask=np.zeros(0, np.bool_),
    )
