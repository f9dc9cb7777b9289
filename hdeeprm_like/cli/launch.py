"""The commands ``launch`` and ``clean``, which run experiments and delete runs."""

import argparse
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdeeprm_like.cli.arguments import (
    CUT_SHORT,
    PROGRAM,
    AgentFlags,
    Commands,
    add_agent_flags,
    add_input_flags,
    add_trust_flag,
    command,
    flags_in,
    next_command,
    overrides_of,
    positive_seconds,
    tell,
)
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.formats.shipped import name_of
from hdeeprm_like.limits import RUNS

if TYPE_CHECKING:
    from hdeeprm_like.experiment import Experiment, Overrides
    from hdeeprm_like.launch.drivers import Driver


class Launch(AgentFlags):
    """A launch as the command line asks for it: each flag by its name, and as *inputs* those of `overrides_of`."""

    output: Path | None
    inputs: "Overrides"
    overwrite: bool
    runs: int
    simulator: str
    log_decisions: bool
    batsim_command: str | None
    image: str | None
    socket: str | None
    timeout: float | None
    log_level: str | None
    quiet: bool

    def run(self) -> int:
        """Simulate, and print the figures; return the exit status."""
        from hdeeprm_like.experiment import load_experiment

        output = self.output or Path(f"run-{name_of(self.options)}")
        refuse_earlier_run(output, self.overwrite)
        experiment = load_experiment(self.options, self.inputs)
        level = self.log_level or experiment.options.pybatsim.log_level
        logging.getLogger("hdeeprm_like").setLevel("ERROR" if self.quiet else level)
        last_run, driver = None, self.driver(experiment)
        for flag in ("batsim_command", "image", "socket", "timeout"):
            if not self.inputs.network and getattr(self, flag) is not None:
                raise OptionsError(f"--{flag.replace('_', '-')}: needs --simulator batsim, batsim5 or docker")
        if not self.inputs.network and experiment.workload.is_known:
            from hdeeprm_like.launch.in_process import launch

            run, last_run = launch(driver, output, self.runs, progress=not self.quiet)
        else:
            run = self.run_with_batsim(driver, output)
            if "problem" in run:
                return cut_short(run, output)
        if run["rejected"]:
            job, reason = next(iter(run["rejected"].items()))
            logging.getLogger(__name__).warning(
                "%d jobs were rejected, the first is %s: it requests %s", len(run["rejected"]), job, reason
            )
        if not self.quiet:
            from hdeeprm_like.results.report import SHORT, figures_of_run, format_figures
            from hdeeprm_like.results.run_reader import open_run

            if run["metrics"]:
                read = last_run or open_run(output)
                sys.stdout.write(format_figures(read.name, figures_of_run(read), SHORT))
            sys.stdout.write(f"\n{len(run['files'])} files in {output}\n")
            sys.stdout.write(next_command("report", output, "--output", output / "report.html"))
        return 0

    def driver(self, experiment: "Experiment") -> "Driver":
        """Return who decides, as the options file and the command line say.

        Raises:
            OptionsError: a flag is for the other type of agents.
        """
        from hdeeprm_like.launch.drivers import Classic

        if experiment.options.pybatsim.agent.type == "LEARNING":
            from hdeeprm_like.cli.learning import new_learner

            learner = new_learner(experiment, self)
            from hdeeprm_like.launch.run_by_run import RunByRun

            return RunByRun(learner, self.log_decisions)
        if self.agent or self.input_model or self.output_model:
            raise OptionsError(f"{self.options}: pybatsim.agent.type: --agent and models are for LEARNING agents")
        if not self.log_decisions:
            return Classic(experiment)
        if self.inputs.network or not experiment.workload.is_known:
            raise OptionsError(
                f"{self.options}: pybatsim.agent.type: --log-decisions of a CLASSIC agent needs --simulator embedded "
                "and profiles that it knows"
            )
        from hdeeprm_like.launch.rewarded import Rewarded

        return Rewarded(experiment)

    def run_with_batsim(self, driver: "Driver", output: Path) -> dict[str, Any]:
        """Simulate an experiment with Batsim, or with our server in its place; return its record."""
        from hdeeprm_like.launch.peers import EMBEDDED, peer_of
        from hdeeprm_like.launch.with_batsim import launch_batsim

        peer = EMBEDDED
        if self.inputs.network:
            how: dict[str, Any] = {
                "command": self.batsim_command,
                "image": self.image,
                "socket": self.socket,
                "timeout": self.timeout,
            }
            peer = peer_of(self.simulator, output, **{name: value for name, value in how.items() if value})
        return launch_batsim(driver, output, peer, runs=self.runs, progress=not self.quiet)


def add_launch(commands: Commands) -> None:
    """Add ``launch``."""
    added = command(commands, "launch", "simulate an experiment", run_launch)
    text = "the options file; or a name, e.g. gaia"
    added.named("--options -o", ("options",), "EXP.json", text, required=True)
    added.path("--output", "DIR", "directory of the results (default: run-EXP)")
    added.switch("--overwrite", "replace the run that the directory holds")
    add_input_flags(added)
    added.whole("--runs -nr", RUNS, "simulations in a row", default=1)
    text = "our own in this process, Batsim 4 or 5 as a program, or either in a container"
    added.choice("--simulator", ("embedded", "batsim", "batsim5", "docker"), text, default="embedded")
    add_trust_flag(added)
    add_agent_flags(added)
    added.switch(
        "--log-decisions",
        "write decisions.jsonl: observation, action, reward and scarce resources of each decision of the last run; of "
        "a CLASSIC agent also rewards.log",
    )
    batsim = added.add_argument_group("with Batsim")
    added.option(
        "--batsim-command",
        "CMD",
        f"program to start in place of batsim, e.g. our servers '{PROGRAM} batsim' and '{PROGRAM} batsim5'",
        group=batsim,
    )
    text = "container image for --simulator docker; a tag such as 5.0.0 means Batsim 5"
    added.option("--image", "IMAGE", text, group=batsim)
    text = "wait here for a Batsim started by hand, e.g. 28000 or tcp://*:28000"
    added.option("--socket", "ENDPOINT", text, group=batsim)
    text = "longest silence of either side (default 300)"
    added.option("--timeout", "SECONDS", text, kind=positive_seconds, group=batsim)


def run_launch(options: argparse.Namespace) -> int:
    """Simulate an experiment."""
    return flags_in(options, Launch, inputs=overrides_of(options, options.simulator != "embedded")).run()


def refuse_earlier_run(output: Path, overwrite: bool) -> None:
    """Refuse a folder with a run or a training; an incomplete run may be replaced without a flag.

    Raises:
        ResultsError: there is one, and *overwrite* is not set.
    """
    from hdeeprm_like.launch.run_folder import status_of

    status = "" if overwrite else status_of(output)
    if status in ("complete", "training"):
        kept = "a training" if status == "training" else "a run"
        raise ResultsError(f"{output}: holds {kept}; name another --output, or replace it with --overwrite")


def cut_short(run: dict[str, Any], output: Path) -> int:
    """Print why a simulation ended early, and Batsim's last lines; return the exit status."""
    from hdeeprm_like.batsim.process import last_lines

    lines = [run["problem"], *last_lines(output / "batsim.log", 10), f"{output}: marked incomplete"]
    sys.stderr.write("".join(f"{PROGRAM}: {line}\n" for line in lines))
    return CUT_SHORT


def add_clean(commands: Commands) -> None:
    """Add ``clean``."""
    added = command(commands, "clean", "delete the files of a run that its run.json lists, and no others", run_clean)
    added.path("folder", "DIR", "the run")
    added.switch("--soft", "keep the options, the workload and the platform")


def run_clean(options: argparse.Namespace) -> None:
    """Delete the files of a run."""
    from hdeeprm_like.launch.run_folder import clean

    gone = clean(options.folder, options.soft)
    tell(options, f"{len(gone)} files deleted in {options.folder}")
