"""Simulation to the end under one policy, in compiled code if the policy is built in."""

from collections.abc import Iterator

import numpy as np

from hdeeprm_like.decision.actions import Choices, PolicyActions
from hdeeprm_like.decision.system import Core, no_reward
from hdeeprm_like.decision.window.window import NoJobWindow
from hdeeprm_like.run.loop import OVER, NoView, Run, advance, new_run
from hdeeprm_like.run.python_loop import run_in_python
from hdeeprm_like.run.simulator import Simulator

INSTANTS = 20_000  # between two updates of the progress


def run_policy(simulator: Simulator, policies: PolicyActions, action: int = 0) -> Iterator[int]:
    """Run to the end under one policy; yield the number of finished jobs from time to time.

    Raises:
        OptionsError: the policy needs actual run times, which are unknown.
        ValueError: the state does not maintain a sorted list that it reads.
    """
    if policies.built_in:
        yield from run_choices(simulator, policies.choices(simulator.state, constant=action))
    else:
        yield from run_in_python(simulator, policies, action)


def run_choices(simulator: Simulator, choices: Choices) -> Iterator[int]:
    """Run to the end with the constant action of some choices; yield the number of finished jobs from time to time."""
    state, run = simulator.state, constant_run(simulator, choices)
    state.make_room()
    while advance(run, INSTANTS) != OVER:
        state.make_room()
        yield simulator.over
    yield simulator.over


def constant_run(simulator: Simulator, choices: Choices) -> Run:
    """Return a run without observation that takes the constant action of some choices."""
    state = simulator.state
    return new_run(
        core=Core(state.tables, NoJobWindow(state).arrays, no_reward()),
        simulator=simulator,
        observer=NoView(np.zeros(0)),
        choices=choices,
        observation=np.zeros(0, np.float32),
        mask=np.zeros(0, np.bool_),
    )
