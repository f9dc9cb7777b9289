"""A conversation with Batsim 4 without faults, which tests break in their ways."""

import pytest
from batsim_talk import FOUR, talk, write_inputs
from small import jobs

from hdeeprm_like.batsim_server import cli as server
from hdeeprm_like.batsim_server.options import ServerOptions

JOBS = jobs(submit=[0.0, 0.0, 1.0, 2.0, 2.0, 9.0], seconds=[3.0, 1.0, 2.0, 5.0, 1.0, 1.0], size=[2, 1, 4, 3, 1, 9])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The inputs of a simulation."""
    made = tmp_path_factory.mktemp("inputs")
    write_inputs(FOUR, JOBS, made)
    return made


@pytest.fixture(scope="module")
def recorded(folder):
    """What Batsim says in it, and what it is answered."""
    ours, said, answers = talk(), [], []

    def ask(text):
        said.append(text.encode())
        answers.append(ours.answer(text).encode())
        return answers[-1]

    files = {"platform": folder / "platform.xml", "workloads": (folder / "workload.json",)}
    assert server.play(ServerOptions(**files, export=str(folder / "out"), energy=True), ask)
    return said, answers
