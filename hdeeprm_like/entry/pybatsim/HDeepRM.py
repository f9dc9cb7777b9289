"""The scheduler run by ``pybatsim .../HDeepRM.py -o '{...}'``."""

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic import ValidationError

from hdeeprm_like.batsim.codec4 import Codec4
from hdeeprm_like.batsim.endpoint import PARTING
from hdeeprm_like.batsim.pybatsim_scheduler import Scheduler
from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.decision.system import DecisionSystem, FirstAction
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import HDeepRMError, OptionsError, did_you_mean
from hdeeprm_like.experiment import load_experiment, platform_of, seed_of_policies
from hdeeprm_like.formats.files import write_json
from hdeeprm_like.formats.shipped import found
from hdeeprm_like.options import Options, explain
from hdeeprm_like.refusals import BATSIM
from hdeeprm_like.results.overutilization import overutilizations

if TYPE_CHECKING:
    from hdeeprm_like.launch.run_by_run import RunByRun

LEARNING = '{"options": "EXP.json", "agent": "FILE.py"}, with input_model, output_model and log_decisions if wanted'


def read(content: Mapping[str, Any]) -> Options:
    """Return the options of an experiment from all of them, or from their section ``pybatsim`` alone."""
    if not content.keys() & (Options.model_fields.keys() - {"seed"}):
        content = {"seed": content.get("seed", 0), "pybatsim": dict(content)}
    try:
        return Options.model_validate({"seed": 0, **content})
    except ValidationError as error:
        raise OptionsError(f"-o: {explain(error.errors()[0])}") from None


class HDeepRM(Scheduler):
    """The decision system of an experiment; writes ``overutilizations.json`` to the current folder.

    The platform is the one in the options, otherwise it is built from the properties of the hosts. A learning agent is
    given as in LEARNING; it also writes the logs of its training.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.runner: RunByRun | None = None
        try:
            conversation = self.classic(options) if "options" not in options else self.learning(options)
        except HDeepRMError as error:
            sys.exit(f"hdeeprm-like: {error}")
        super().__init__(conversation, options)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.stop)

    def classic(self, options: Mapping[str, Any]) -> Conversation:
        """Return the conversation of a single policy."""
        self.experiment = read(options)
        if self.experiment.pybatsim.agent.type != "CLASSIC":
            raise OptionsError(f"-o: a LEARNING agent is named as {LEARNING}")
        platform = None
        if self.experiment.platform_file_path:
            _, platform = platform_of(Path("-o"), self.experiment, None)
        return Conversation(self.decide, FirstAction(), Codec4(), platform)

    def learning(self, options: Mapping[str, Any]) -> Conversation:
        """Return the conversation of a learning agent."""
        known = ("options", "agent", "device", "input_model", "output_model", "log_decisions")
        for name in options:
            if name not in known:
                raise OptionsError(f"-o: {name}: is not known{did_you_mean(name, known)}")
        if not isinstance(options["options"], str) or not isinstance(options.get("agent"), str):
            raise OptionsError(f"-o: options and agent: paths are needed, as {LEARNING}")
        from hdeeprm_like.launch.learner import AgentChoice, Learner
        from hdeeprm_like.launch.run_by_run import RunByRun

        experiment = load_experiment(found(options["options"], "options"))
        if experiment.options.pybatsim.agent.type != "LEARNING":
            raise OptionsError(f"{options['options']}: pybatsim.agent.type: is CLASSIC; leave -o's agent out")
        before, after = (Path(options[name]) if options.get(name) else None for name in ("input_model", "output_model"))
        learner = Learner(experiment, AgentChoice(options["agent"], options.get("device", "cpu"), before, after))
        self.runner = RunByRun(learner, log_decisions=bool(options.get("log_decisions")), checkpoint=False)
        self.runner.begin(Path(), runs=1)
        return Conversation(
            lambda platform, limits: learner.system(platform, limits, None),
            learner.agent,
            Codec4(),
            experiment.platform,
            experiment.workload.limits(),
        )

    def decide(self, platform: Platform, limits: JobLimits) -> DecisionSystem:
        """Make the decision system of a platform."""
        actions = PolicyActions([policy_named(self.experiment.classic_policy, BATSIM)])
        seed = seed_of_policies(self.experiment.seed)
        return DecisionSystem(State(platform, None, seed=seed, limits=limits, needs=actions.needs), actions)

    def stop(self, number: int, frame: object) -> NoReturn:
        """Exit on a signal without an exception: it may arrive within a finalizer, where `SystemExit` is lost."""
        why = f"stopped by {signal.Signals(number).name}"
        self.refuse(why, PARTING)
        sys.stdout.flush()
        print(f"hdeeprm-like: {why}", file=sys.stderr, flush=True)  # noqa: T201
        os._exit(1)

    def leave(self, why: str, patience: float = 0.0) -> NoReturn:
        """Exit with a one-line message, which Batsim also gets."""
        self.refuse(why, patience)
        sys.exit(f"hdeeprm-like: {why}")

    def listen(self, network: Any, blocking: bool) -> Any:
        """Read a message; exit with one line if it is invalid."""
        try:
            return super().listen(network, blocking)
        except HDeepRMError as error:
            self.leave(str(error))

    def onDeadlock(self) -> None:
        """Exit with one line: Batsim is silent."""
        try:
            super().onDeadlock()
        except HDeepRMError as error:
            self.leave(str(error))

    def onSimulationBegins(self) -> None:
        """Check that the first message has been processed; exit with one line if not."""
        try:
            super().onSimulationBegins()
        except HDeepRMError as error:
            self.leave(str(error))

    def onSimulationEnds(self) -> None:
        """Write the results that only the decision system has."""
        write_json(Path("overutilizations.json"), overutilizations(self.conversation.system.state), indent=None)
        if self.runner is not None:
            self.runner.after(self.conversation.system)
            self.runner.close()
            self.runner.learner.finish()
