"""`check_platform`: whether a machine of a user's own fits together, and whether jobs run on it; see this folder."""

import tempfile
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import CheckError, HDeepRMError
from hdeeprm_like.formats.any_platform import AnyPlatform, platform_from
from hdeeprm_like.formats.open import load_platform, write
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.studies.checks.parts import JOBS, Checked
from hdeeprm_like.studies.checks.runs import check_conservation, check_nothing_lost, drawn_jobs, run_of

IDLE, BUSY = slice(2, 4), slice(0, 2)  # P-states of cores that serve no job, and of those that serve one
MOST_CORES_IN_XML = 20_000  # cores of a machine that is also written as XML, which has a line for each


def check_platform(platform: AnyPlatform) -> Checked:
    """Try a machine in a small run and return what was tried.

        >>> print(check_platform("my_machine.json"))

    Args:
        platform: as of `simulate`.

    Raises:
        CheckError: it fails a check.
        PlatformError: it cannot be read.
    """
    machine = platform_from(platform)
    check_structure(machine)
    files = check_files(machine)
    joules = check_runs(machine)
    return Checked(
        machine.name,
        (
            f"structure: {machine.cores:,} cores in {machine.processors:,} processors in {machine.nodes:,} nodes",
            "structure: speeds are above 0, and an idle core draws no more than one that serves a job",
            files,
            f"nothing lost: {JOBS} jobs of a model ran on it under fcfs+easy, or it cannot hold them",
            "conservation: each job held the cores it asked for, and no core or memory served two jobs at a time",
            f"conservation: {joules:.3g} J lie between what idle and what busy cores draw",
        ),
        0.0,
    )


def check_structure(machine: Platform) -> None:
    """Refuse a machine whose columns do not fit together."""
    for name, column, most in (
        ("core_processor", machine.core_processor, machine.processors),
        ("processor_node", machine.processor_node, machine.nodes),
        ("node_cluster", machine.node_cluster, len(machine.cluster_names)),
    ):
        if len(column) == 0 or column[0] != 0 or column[-1] != most - 1 or not np.isin(np.diff(column), (0, 1)).all():
            told = f"{name} must go up from 0 to {most - 1} by steps of 0 or 1: contiguous, and none without a part"
            raise CheckError("structure", told)
    if len(set(machine.core_names)) != machine.cores:
        raise CheckError(
            "structure", f"{machine.cores} cores have {len(set(machine.core_names))} names; each needs one"
        )
    slow = np.flatnonzero(~(machine.processor_flops[:, 0] > 0.0))
    if len(slow):
        raise CheckError("structure", f"processor {slow[0]} computes at {machine.processor_flops[slow[0], 0]:g} flop/s")
    watts = machine.processor_watts
    if not (np.isfinite(watts).all() and (watts >= 0.0).all()):
        raise CheckError("structure", "a processor draws a power that is negative or no number")
    odd = np.flatnonzero(watts[:, IDLE].max(axis=1) > watts[:, BUSY].max(axis=1))
    if len(odd):
        idle, busy = watts[odd[0], IDLE].max(), watts[odd[0], BUSY].max()
        raise CheckError(
            "structure", f"an idle core of processor {odd[0]} draws {idle:g} W, one that serves a job {busy:g}"
        )
    if not (machine.node_memory >= 0.0).all() or not (machine.node_gpus >= 0).all():
        raise CheckError("structure", "a node has less than no memory, or less than no GPU")


def check_files(machine: Platform) -> str:
    """Refuse a machine that is another one after it was written and read; return what was tried, in a sentence."""
    if machine.cores > MOST_CORES_IN_XML:
        return f"files: not tried, since XML has a line for each of its {machine.cores:,} cores"
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "machine.xml"
        try:
            write(machine, path, "platform")
            again = load_platform(path)
        except HDeepRMError as cause:
            raise CheckError("files", f"as XML it cannot be written and read again: {cause}") from cause
    for name in ("core_processor", "processor_node", "node_memory", "node_gpus", "processor_flops", "processor_watts"):
        one, other = getattr(machine, name), getattr(again, name)
        if one.shape != other.shape or not np.allclose(one, other, rtol=1e-6, equal_nan=True):
            raise CheckError("files", f"written as XML and read again, its {name} are others")
    return "files: written as XML and read again, it is the same"


def check_runs(machine: Platform) -> float:
    """Refuse a machine on which jobs are lost or energy does not add up; return the J of the run."""
    jobs = drawn_jobs(machine, JOBS, 1)
    policies = PolicyActions([policy_named("fcfs+easy")])
    simulator = run_to_end(State(machine, jobs, needs=policies.needs), policies, "textbook")
    run = run_of(simulator, 0, 0.0)
    check_nothing_lost(machine, jobs, run)
    check_conservation(machine, jobs, run)
    joules, seconds = float(simulator.state.joules), float(simulator.simulation.sim["now"][0])
    each = machine.processor_watts[machine.core_processor]
    least, most = each.min(axis=1).sum() * seconds, each.max(axis=1).sum() * seconds
    if not least * (1 - 1e-6) - 1.0 <= joules <= most * (1 + 1e-6) + 1.0:
        told = f"a run of {seconds:.4g} s took {joules:.4g} J; between {least:.4g} and {most:.4g} are possible"
        raise CheckError("conservation", told)
    return joules
