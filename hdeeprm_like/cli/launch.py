"""The part of the command line that runs experiments: ``launch`` and ``clean``."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdeeprm_like.cli.arguments import (
    CUT_SHORT,
    PROGRAM,
    Commands,
    add_agent_flags,
    add_input_flags,
    add_trust_flag,
    at_most,
    command,
    next_command,
    positive_seconds,
)
from hdeeprm_like.cli.names import add_named
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.formats.shipped import name_of
from hdeeprm_like.limits import RUNS

if TYPE_CHECKING:
    from hdeeprm_like.experiment import Experiment
    from hdeeprm_like.launch.learner import Learner


def add_launch(commands: Commands) -> None:
    """Add ``launch``."""
    added = command(commands, "launch", "simulate an experiment", run_launch)
    told = "the options file; or a name, as gaia"
    add_named(added, "--options", "-o", kinds=("options",), required=True, metavar="EXP.json", help=told)
    added.add_argument("--output", type=Path, metavar="DIR", help="directory of the results (default: run-EXP)")
    added.add_argument("--overwrite", action="store_true", help="replace the run that the directory holds")
    add_input_flags(added)
    added.add_argument(
        "--runs", "-nr", type=at_most(RUNS), default=1, metavar="N", help="simulations in a row (default 1)"
    )
    added.add_argument(
        "--simulator",
        choices=("embedded", "batsim", "batsim5", "docker"),
        default="embedded",
        help="our own in process, Batsim 4 or 5 as a program, or either in a container (default embedded)",
    )
    add_trust_flag(added)
    add_agent_flags(added)
    added.add_argument(
        "--log-decisions",
        action="store_true",
        help="write decisions.jsonl: what the agent saw, did and got in the last run, and what was short then; of a "
        "CLASSIC agent also rewards.log",
    )
    batsim = added.add_argument_group("with Batsim")
    batsim.add_argument(
        "--batsim-command",
        metavar="CMD",
        help=f"what to start in place of batsim, as '{PROGRAM} batsim' or '{PROGRAM} batsim5', our own servers",
    )
    batsim.add_argument("--image", help="container image for --simulator docker; a tag such as 5.0.0 means Batsim 5")
    batsim.add_argument(
        "--socket", metavar="ENDPOINT", help="wait here for a Batsim started by hand, as 28000 or tcp://*:28000"
    )
    batsim.add_argument(
        "--timeout", type=positive_seconds, metavar="SECONDS", help="how long either side may be silent (default 300)"
    )


def run_launch(options: argparse.Namespace) -> int | None:
    """Simulate an experiment."""
    import logging

    from hdeeprm_like.experiment import Overrides, load_experiment

    output = options.output or Path(f"run-{name_of(options.options)}")
    refuse_earlier_run(output, options.overwrite)
    with_batsim = options.simulator != "embedded"
    overrides = Overrides(options.platform, options.trace, options.workload, options.seed, with_batsim)
    experiment = load_experiment(options.options, overrides)
    level = options.log_level or experiment.options.pybatsim.log_level
    logging.getLogger("hdeeprm_like").setLevel("ERROR" if options.quiet else level)
    learner = None
    if experiment.options.pybatsim.agent.type == "LEARNING":
        from hdeeprm_like.cli.learning import new_learner

        learner = new_learner(experiment, options)
    elif options.agent or options.input_model or options.output_model:
        raise OptionsError(f"{options.options}: pybatsim.agent.type: --agent and models are for LEARNING agents")
    elif options.log_decisions and (with_batsim or experiment.options.network):
        raise OptionsError(
            f"{options.options}: pybatsim.agent.type: --log-decisions of a CLASSIC agent needs --simulator embedded "
            "without network"
        )
    from hdeeprm_like.launch.in_process import launched

    last_run = None
    if not with_batsim:
        refuse_batsim_flags(options)
    if not (with_batsim or experiment.options.network):
        how = {"progress": not options.quiet, "log_decisions": options.log_decisions}
        if learner is None:
            run, last_run = launched(experiment, output, options.runs, **how)
        else:
            from hdeeprm_like.launch.learned import launch_learner

            run = launch_learner(learner, output, options.runs, **how)
    else:
        run = run_with_batsim(options, experiment, output, learner)
        if "problem" in run:
            return cut_short(run, output)
    if run["rejected"]:
        job, reason = next(iter(run["rejected"].items()))
        logging.getLogger(__name__).warning(
            "%d jobs were rejected, the first is %s: it asks for %s", len(run["rejected"]), job, reason
        )
    if not options.quiet:
        from hdeeprm_like.results.report import SHORT, figures_of_run, format_figures
        from hdeeprm_like.results.run_reader import open_run

        if run["metrics"]:
            read = last_run or open_run(output)
            sys.stdout.write(format_figures(read.name, figures_of_run(read), SHORT))
        sys.stdout.write(f"\n{len(run['files'])} files in {output}\n")
        sys.stdout.write(next_command("report", output, "--output", output / "report.html"))
    return 0


def refuse_earlier_run(output: Path, overwrite: bool) -> None:
    """Refuse a folder with a run or a training in it; what was cut short may be replaced unasked.

    Raises:
        ResultsError: there is one, and it is not to be overwritten.
    """
    from hdeeprm_like.launch.in_process import status_of

    status = "" if overwrite else status_of(output)
    if status in ("complete", "training"):
        kept = "a training" if status == "training" else "a run"
        raise ResultsError(f"{output}: holds {kept}; name another --output, or replace it with --overwrite")


def refuse_batsim_flags(options: argparse.Namespace) -> None:
    """Raise an `OptionsError` if a flag is given that only Batsim would heed."""
    for flag in ("batsim_command", "image", "socket", "timeout"):
        if getattr(options, flag) is not None:
            raise OptionsError(
                f"--{flag.replace('_', '-')}: is of no use without --simulator batsim, batsim5 or docker"
            )


def run_with_batsim(
    options: argparse.Namespace, experiment: "Experiment", output: Path, learner: "Learner | None"
) -> dict[str, Any]:
    """Simulate an experiment with Batsim, or with our server in its place, as asked; return its record."""
    from hdeeprm_like.launch.peers import EMBEDDED, IMAGE, TIMEOUT, peer_of
    from hdeeprm_like.launch.with_batsim import launch_batsim

    peer = EMBEDDED
    if options.simulator != "embedded":
        peer = peer_of(
            options.simulator,
            output,
            command=options.batsim_command or "batsim",
            image=options.image or IMAGE,
            socket=options.socket or "",
            timeout=options.timeout or TIMEOUT,
        )
    if learner is None:
        return launch_batsim(experiment, output, peer, runs=options.runs, progress=not options.quiet)
    from hdeeprm_like.launch.learned import launch_learner_with_batsim

    how = {"progress": not options.quiet, "log_decisions": options.log_decisions}
    return launch_learner_with_batsim(learner, output, peer, options.runs, **how)


def cut_short(run: dict[str, Any], output: Path) -> int:
    """Print why a simulation did not come to its end, and Batsim's last lines; return the exit status."""
    from hdeeprm_like.batsim.process import last_lines

    lines = [run["problem"], *last_lines(output / "batsim.log", 10), f"{output}: marked incomplete"]
    sys.stderr.write("".join(f"{PROGRAM}: {line}\n" for line in lines))
    return CUT_SHORT


def add_clean(commands: Commands) -> None:
    """Add ``clean``."""
    added = command(
        commands, "clean", "delete the files of a run, those listed in its run.json and no other", run_clean
    )
    added.add_argument("folder", type=Path, metavar="DIR", help="the run")
    added.add_argument("--soft", action="store_true", help="keep the options, the workload and the platform")


def run_clean(options: argparse.Namespace) -> None:
    """Delete the files of a run."""
    from hdeeprm_like.launch.in_process import clean

    gone = clean(options.folder, options.soft)
    if not options.quiet:
        sys.stdout.write(f"{len(gone)} files deleted in {options.folder}\n")
