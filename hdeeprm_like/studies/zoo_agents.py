"""Trained agents as small folders: packed from a training, shipped as ``agent:zoo/NAME``, loaded anywhere.

A packed agent is what a training leaves without its course: no logs, no optimizer, and of the jobs only those that
scale what it sees. It goes wherever ``agent:DIR`` goes.

| file | content |
|---|---|
| ``best.pt`` | weights, in torch's format, read with ``weights_only=True`` |
| ``options.json``, ``platform.json``, ``workload.json`` | decision space, machine, and largest jobs of the training |
| ``run.json`` | which agent it is |
| ``card.json`` | the model card: data, seeds, command, figures, and what it is bad at |
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hdeeprm_like.decision.agent_names import Trained, agent_named
from hdeeprm_like.decision.policy_words import AGENT
from hdeeprm_like.errors import AgentError, ResultsError
from hdeeprm_like.experiment import WORKLOAD_OF_RUN, load_experiment
from hdeeprm_like.formats.files import write_json
from hdeeprm_like.formats.open import write
from hdeeprm_like.formats.shipped import shipped
from hdeeprm_like.inputs import read_object
from hdeeprm_like.launch.run_folder import OPTIONS, RECORD

if TYPE_CHECKING:
    from hdeeprm_like.learning.agents import LearningAgent

CARD, PLATFORM, WEIGHTS = "card.json", "platform.json", "best.pt"
SCALES = ("requested_time", "size", "memory", "bandwidth")  # columns whose largest values scale what an agent sees
OF_CARD = ("what", "data", "learned_from", "seed", "command", "cpu_seconds", "figures", "bad_at")


def pack_agent(training: Path, folder: Path, card: dict[str, Any]) -> None:
    """Write a training's agent as a small folder that needs nothing else.

    Args:
        training: folder that the command ``train`` has left. card: the entries of `OF_CARD`.

    Raises:
        ResultsError: an entry of the card is missing, or a folder holds no training or cannot be written.
    """
    from hdeeprm_like.launch.trained import agent_of, restored
    from hdeeprm_like.learning.checkpoint import save_checkpoint

    missing = next((name for name in OF_CARD if not card.get(name)), None)
    if missing is not None:
        raise ResultsError(f"card: has no {missing!r}; an agent goes to others with {', '.join(OF_CARD)}")
    learner, agent = restored(Trained(training)), agent_of(training)
    name = next((one.name for one in shipped("agent").values() if str(one.path) == agent), agent)
    jobs = learner.experiment.workload
    largest = np.unique([int(np.argmax(getattr(jobs, column))) for column in SCALES])
    options = read_object(training / OPTIONS, ResultsError)
    options |= {"platform_file_path": PLATFORM, "workload_file_path": WORKLOAD_OF_RUN, "type_file_paths": []}
    folder.mkdir(parents=True, exist_ok=True)
    write(learner.experiment.platform, folder / PLATFORM, "platform")
    write(jobs.take(largest), folder / WORKLOAD_OF_RUN, "workload")
    write_json(folder / OPTIONS, options)
    write_json(folder / RECORD, {"status": "packed", "resumable": {"agent": name}})
    write_json(folder / CARD, card)
    save_checkpoint(folder / WEIGHTS, learner.agent, learner.actions.names)
    again = load_experiment(folder / OPTIONS)
    if again.workload.limits() != jobs.limits() or again.platform.cores != learner.experiment.platform.cores:
        raise ResultsError(f"{folder}: the packed agent would see other numbers than in its training")


def load_agent(name: str | Path) -> "LearningAgent":
    """Return a trained agent with its weights; it takes the action it holds for the best.

        >>> load_agent("zoo/kernel-lublin").decide(observations, masks)

    Args:
        name: ``"zoo/NAME"`` of one that comes along, or the folder of a training; with or without ``agent:`` before it.

    Raises:
        HDeepRMError: there is none, or it cannot be loaded.
    """
    from hdeeprm_like.launch.trained import restored

    return restored(named(name)).agent


def card_of(name: str | Path) -> dict[str, Any]:
    """Return the model card of an agent.

    Raises:
        AgentError: it has none.
    """
    path = named(name).folder / CARD
    if not path.exists():
        raise AgentError(f"{path}: no such file; agents that were packed have a card")
    return read_object(path, ResultsError)


def named(name: str | Path) -> Trained:
    """Return the agent of a name."""
    text = str(name)
    found = agent_named(text if text.startswith(AGENT) else f"{AGENT}{text}")
    assert found is not None
    return found
