"""Play trained agents on windows; imported only for a comparison with agents, because it needs torch."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.agent_names import Trained
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.errors import AgentError, OptionsError, ResultsError
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.formats.shipped import shipped
from hdeeprm_like.inputs import read_json, read_object
from hdeeprm_like.launch.learner import AgentChoice, Learner
from hdeeprm_like.launch.run_folder import INPUTS, OPTIONS, RECORD, SPEED_FILES
from hdeeprm_like.learning.checkpoint import weights_of
from hdeeprm_like.learning.rollout import play_together
from hdeeprm_like.plugins import python_files
from hdeeprm_like.run.python_loop import Play, play
from hdeeprm_like.run.simulator import Clock, Simulator


def restored(agent: Trained) -> Learner:
    """Return an agent with its best weights, in the experiment that says what it sees and does.

    It is cached until one of its files changes.

    Raises:
        HDeepRMError: the folder holds no training, or its agent cannot be loaded.
    """
    folder = agent.folder
    if agent.options is None and not (folder / RECORD).exists():
        raise ResultsError(f"{folder}: has no {RECORD}; `hdeeprm-like train --output {folder}` writes an agent there")
    changed = tuple(path.stat().st_mtime_ns for path in files_of_agent(agent))
    return _restored(folder.absolute(), agent.options, changed)


@lru_cache(maxsize=8)
def _restored(folder: Path, options: Path | None, changed: tuple[int, ...]) -> Learner:
    """Return the agent of `restored`; *changed* is the time of change of its files, which makes the cache miss."""
    experiment = load_experiment(options or folder / OPTIONS)
    if options is None:
        choice = AgentChoice(agent_of(folder), input_model=folder)
    elif folder.suffix == ".zip":
        choice = AgentChoice(str(shipped("agent")["sb3_network"].path), section={"model": str(folder)})
    else:
        choice = AgentChoice(str(folder), section={})
    learner = Learner(experiment, choice)
    learner.agent.greedy = True
    return learner


def agent_of(folder: Path) -> str:
    """Return the name of a training's agent from its command line; the file of a shipped agent.

    Raises:
        ResultsError: the folder holds no training.
    """
    run = read_json(folder / RECORD, ResultsError)
    before = run.get("resumable") if isinstance(run, dict) else None
    if not isinstance(before, dict) or not isinstance(before.get("agent"), str):
        raise ResultsError(f"{folder / RECORD}: belongs to no training")
    name: str = before["agent"]
    ours = shipped("agent").get(name)
    return name if ours is None else str(ours.path)


def files_of_agent(agent: Trained) -> tuple[Path, ...]:
    """Return the files that decide the behaviour of an agent: weights, inputs, its Python file, the user's own
    parts."""
    folder = agent.folder
    if agent.options is not None:
        named, beside = read_object(agent.options, OptionsError), agent.options.parent
        inputs = [beside / str(named[name]) for name in ("platform_file_path", "workload_file_path") if named.get(name)]
        files = [Path(str(folder).partition(":")[0]), agent.options, *inputs, *python_files(named, beside)]
        return tuple(path for path in files if path.is_file())
    own = python_files([agent_of(folder), read_json(folder / OPTIONS, ResultsError)])
    files = [weights_of(folder), *(folder / name for name in INPUTS), *sorted(folder.glob(SPEED_FILES)), *own]
    return tuple(path for path in dict.fromkeys(files) if path.exists())


def system_of(policy: Trained, machine: Platform, jobs: Workload, log: bool = False) -> DecisionSystem:
    """Return the decision system of an agent on a machine; observations are scaled as in its training.

    Raises:
        OptionsError: observations or actions have another shape than in the training.
    """
    learner = restored(policy)
    home, limits = learner.experiment.platform, learner.experiment.workload.limits()
    system = learner.system(machine, limits, jobs, log)
    own = learner.system(home, limits, learner.experiment.workload, log=False)
    if learner.agent.any_size:
        learner.agent.fit(learner.space.layout(machine, limits))
    elif shape_of(own) != shape_of(system):
        raise OptionsError(
            f"{policy.name}: has learned on {home.cores} cores to see {shape_of(own)}; on the {machine.cores} of the "
            f"windows it would see {shape_of(system)}: compare on a platform of its kind, or let it observe what fits "
            "all machines"
        )
    return system


def play_trained(policy: Trained, machine: Platform, jobs: Workload, clock: Clock, log: bool = False) -> Simulator:
    """Schedule jobs on a machine by an agent; return the finished simulator.

    Args:
        log: of `State`.

    Raises:
        HDeepRMError: as of `restored` and `system_of`.
    """
    system = system_of(policy, machine, jobs, log)
    simulator = Simulator(system.state, jobs, clock)
    play(simulator, system, restored(policy).agent)
    return simulator


def play_windows(policy: Trained, machine: Platform, windows: Sequence[Workload], clock: Clock) -> list[Simulator]:
    """Schedule the jobs of several windows by an agent, each window on its own, with decisions for all at once.

    One pass through a network for many windows takes hardly longer than for one, so this is several times faster.

    Raises:
        AgentError: it waits again and again, see `Space.most_steps`.
        HDeepRMError: as of `restored` and `system_of`.
    """
    learner, plays = restored(policy), []
    for jobs in windows:
        system = system_of(policy, machine, jobs)
        system.records = False
        plays.append(Play(Simulator(system.state, jobs, clock), system))
    most = learner.space.most_steps(max(map(len, windows)))
    if not play_together(learner.agent, plays, most):
        raise AgentError(
            f"{policy.name}: has decided {most:,} times in a window and its jobs are not over: it waits again "
            "and again, as an agent does that has not learned enough"
        )
    return [one.simulator for one in plays]


def shape_of(system: DecisionSystem) -> str:
    """Return the shapes of observations and actions in words."""
    shape = system.observer.shape if system.observer is not None else (0,)
    return f"{'x'.join(map(str, shape))} numbers and do {system.actions.size} actions"
