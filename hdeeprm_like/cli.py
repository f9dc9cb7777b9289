"""The command line. Everything heavy is imported by the command that needs it, so that ``--help`` answers at once."""

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from hdeeprm_like import __version__
from hdeeprm_like.errors import HDeepRMError, OptionsError

PROGRAM = "hdeeprm-like"
CUT_SHORT, USER_ERROR, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141

if TYPE_CHECKING:
    from hdeeprm_like.experiment import Experiment
    from hdeeprm_like.learned import Learner

    Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
else:
    Commands = object

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status.

    That is 0, 1 for a simulation that was cut short, 2 for something the user can mend, 130 for Ctrl-C.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments[:1] == ["batsim"]:  # keeps Batsim's own command line
        from hdeeprm_like.drivers.server.cli import main as serve

        return serve(arguments[1:])
    options = parser().parse_args(arguments)
    if not options.command:
        parser().print_help()
        return USER_ERROR
    logging.basicConfig(
        level="ERROR" if options.quiet else options.log_level or "WARNING", format=f"{PROGRAM}: %(message)s", force=True
    )
    try:
        run: Callable[[argparse.Namespace], int | None] = options.run
        status = run(options)
        sys.stdout.flush()
    except HDeepRMError as error:
        sys.stderr.write(f"{PROGRAM}: {error}\n")
        return USER_ERROR
    except KeyboardInterrupt:
        sys.stderr.write(f"{PROGRAM}: interrupted; nothing was written\n")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return status or 0


class Parser(argparse.ArgumentParser):
    """Tells in one line what is wrong with a command line."""

    def error(self, message: str) -> NoReturn:
        """End the program."""
        self.exit(USER_ERROR, f"{PROGRAM}: {message}; see {self.prog} --help\n")


def parser() -> Parser:
    """Return the parser of the whole command line."""
    from hdeeprm_like.cli_compare import add_compare
    from hdeeprm_like.cli_learning import add_train
    from hdeeprm_like.cli_workloads import add_workload_commands

    top = Parser(
        prog=PROGRAM, description="Learned job scheduling for heterogeneous HPC clusters, coupled with Batsim."
    )
    top.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    add_launch(commands)
    add_train(commands)
    add_visual(commands)
    add_metrics(commands)
    add_compare(commands)
    add_jobstat(commands)
    add_workload_commands(commands)
    add_clean(commands)
    add_schema(commands)
    commands.add_parser("batsim", help="a server that takes the place of the batsim command", add_help=False)
    return top


def command(
    commands: Commands, name: str, purpose: str, run: Callable[[argparse.Namespace], int | None]
) -> argparse.ArgumentParser:
    """Add a command with the flags that all have."""
    added = commands.add_parser(name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")
    added.add_argument("--quiet", "-q", action="store_true", help="no progress bar and no figures, errors only")
    levels = ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")
    added.add_argument("--log-level", choices=levels, help="how much to tell on stderr (default WARNING)")
    added.set_defaults(run=run)
    return added


def positive(text: str) -> int:
    """Parse a positive whole number."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number from 1 on is needed")
    return int(text)


def positive_seconds(text: str) -> float:
    """Parse a time above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r}: a number of seconds above 0 is needed")
    return value


def seed(text: str) -> int:
    """Parse a seed."""
    if not text.isascii() or not text.isdigit() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number from 0 to 2^63-1 is needed")
    return int(text)


def add_launch(commands: Commands) -> None:
    """Add ``launch``."""
    added = command(commands, "launch", "simulate an experiment", run_launch)
    added.add_argument("--options", "-o", type=Path, required=True, metavar="EXP.json", help="the options file")
    added.add_argument("--output", type=Path, metavar="DIR", help="directory of the results (default: run-EXP)")
    added.add_argument("--platform", type=Path, help="platform in place of the options file's (JSON or XML)")
    added.add_argument("--trace", type=Path, metavar="SWF", help="trace in place of the options file's")
    added.add_argument("--workload", "-cw", type=Path, help="ready Batsim workload (JSON), taken as it is")
    added.add_argument("--seed", type=seed, help="seed in place of the options file's")
    added.add_argument("--runs", "-nr", type=positive, default=1, metavar="N", help="simulations in a row (default 1)")
    added.add_argument(
        "--simulator",
        choices=("embedded", "batsim", "docker"),
        default="embedded",
        help="our own in process, or Batsim 4 as a program or in a container (default embedded)",
    )
    add_agent_flags(added)
    batsim = added.add_argument_group("with Batsim")
    batsim.add_argument(
        "--batsim-command",
        metavar="CMD",
        help=f"what to start in place of batsim, as '{PROGRAM} batsim', our own server that takes its place",
    )
    batsim.add_argument("--image", help="container image for --simulator docker")
    batsim.add_argument(
        "--socket", metavar="ENDPOINT", help="wait here for a Batsim started by hand, as 28000 or tcp://*:28000"
    )
    batsim.add_argument(
        "--timeout", type=positive_seconds, metavar="SECONDS", help="how long either side may be silent (default 300)"
    )


def add_agent_flags(added: argparse.ArgumentParser) -> None:
    """Add the flags of learning agents, as HDeepRM's users know them."""
    learning = added.add_argument_group("learning agents")
    learning.add_argument("--agent", "-a", metavar="FILE.py[:Class]", help="the agent")
    learning.add_argument("--input-model", "-im", type=Path, metavar="PT", help="weights, or a training's directory")
    learning.add_argument("--output-model", "-om", type=Path, metavar="PT", help="where to leave the weights")
    learning.add_argument("--device", metavar="NAME", help="cpu, cuda, mps or auto (default cpu)")


def run_launch(options: argparse.Namespace) -> int | None:
    """Simulate an experiment."""
    from hdeeprm_like.experiment import Overrides, load_experiment

    overrides = Overrides(options.platform, options.trace, options.workload, options.seed)
    experiment = load_experiment(options.options, overrides)
    level = options.log_level or experiment.options.pybatsim.log_level
    logging.getLogger("hdeeprm_like").setLevel("ERROR" if options.quiet else level)
    learner = None
    if experiment.options.pybatsim.agent.type == "LEARNING":
        from hdeeprm_like.cli_learning import new_learner

        learner = new_learner(experiment, options)
    elif options.agent or options.input_model or options.output_model:
        raise OptionsError(f"{options.options}: pybatsim.agent.type: --agent and models are for LEARNING agents")
    from hdeeprm_like.drivers.simulator import is_compiled
    from hdeeprm_like.launch import launch_classic

    if not is_compiled() and not options.quiet:
        sys.stderr.write(f"{PROGRAM}: compiling the simulator, once for this machine (about 20 s)\n")
    output = options.output or Path(f"run-{options.options.stem}")
    if options.simulator == "embedded":
        refuse_batsim_flags(options)
        if learner is None:
            run = launch_classic(experiment, output, options.runs, progress=not options.quiet)
        else:
            from hdeeprm_like.learned import launch_learner

            run = launch_learner(learner, output, options.runs, progress=not options.quiet)
    else:
        run = run_with_batsim(options, experiment, output, learner)
        if "problem" in run:
            return cut_short(run, output)
    if run["rejected"]:
        job, reason = next(iter(run["rejected"].items()))
        log.warning("%d jobs were rejected, the first is %s: it asks for %s", len(run["rejected"]), job, reason)
    if not options.quiet:
        from hdeeprm_like.report import format_table, metrics_table

        sys.stdout.write(format_table(metrics_table([output])) if run["metrics"] else "")
        sys.stdout.write(f"\n{len(run['files'])} files in {output}\n")
    return 0


def refuse_batsim_flags(options: argparse.Namespace) -> None:
    """Raise an `OptionsError` if a flag is given that only Batsim would heed."""
    for flag in ("batsim_command", "image", "socket", "timeout"):
        if getattr(options, flag) is not None:
            raise OptionsError(f"--{flag.replace('_', '-')}: is of no use without --simulator batsim or docker")


def run_with_batsim(
    options: argparse.Namespace, experiment: "Experiment", output: Path, learner: "Learner | None"
) -> dict[str, Any]:
    """Simulate an experiment with Batsim as the command line says; return its record."""
    from hdeeprm_like.launch_batsim import IMAGE, TIMEOUT, launch_batsim, peer_of

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
    from hdeeprm_like.learned import launch_learner_with_batsim

    return launch_learner_with_batsim(learner, output, peer, options.runs, progress=not options.quiet)


def cut_short(run: dict[str, Any], output: Path) -> int:
    """Tell why a simulation did not come to its end, and the last that Batsim said; return the exit status."""
    from hdeeprm_like.drivers.supervise import last_lines

    lines = [run["problem"], *last_lines(output / "batsim.log", 10), f"{output}: marked incomplete"]
    sys.stderr.write("".join(f"{PROGRAM}: {line}\n" for line in lines))
    return CUT_SHORT


def add_visual(commands: Commands) -> None:
    """Add ``visual``."""
    added = command(commands, "visual", "draw a run", run_visual)
    added.add_argument("kind", metavar="KIND", help="what to draw, as queue_size, utilization, lifecycle or gantt")
    added.add_argument(
        "--run", dest="folders", type=Path, required=True, action="append", metavar="DIR", help="the run"
    )
    added.add_argument("--save", "-s", type=Path, metavar="F.png|svg|pdf", help="a file; a window opens without it")


def run_visual(options: argparse.Namespace) -> None:
    """Draw a run, or several above one another."""
    from hdeeprm_like import visual

    if options.kind == "compare":
        visual.compare(options.folders, options.save)
    elif len(options.folders) > 1:
        raise OptionsError("--run: one directory is drawn at a time; `visual compare` takes several")
    else:
        visual.draw(options.kind, options.folders[0], options.save)


def add_metrics(commands: Commands) -> None:
    """Add ``metrics``."""
    added = command(commands, "metrics", "put the figures of runs side by side", run_metrics)
    added.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="runs, or files out_schedule.csv")
    added.add_argument("--save", "-s", type=Path, metavar="F.png|svg|pdf", help="also draw them")


def run_metrics(options: argparse.Namespace) -> None:
    """Print the figures of runs, and draw them if asked."""
    from hdeeprm_like import report

    table = report.metrics_table(options.folders)
    if options.save:
        report.metrics_grid(options.folders, options.save)
    if not options.quiet:
        sys.stdout.write(report.format_table(table))


def add_jobstat(commands: Commands) -> None:
    """Add ``jobstat``."""
    added = command(commands, "jobstat", "tell statistics of what jobs ask for", run_jobstat)
    added.add_argument("workload", type=Path, help="Batsim workload (JSON) or trace (SWF, plain or .gz)")
    added.add_argument("field", metavar="FIELD", help="req_time, size, mem, mem_bw, submit, or all for the whole table")
    added.add_argument(
        "statistic", metavar="STATISTIC", nargs="?", help="min, max, mean, median, std, sum, count, p95 ..."
    )
    added.add_argument("--seed", type=seed, help="draws the bandwidths that a trace does not know")


def run_jobstat(options: argparse.Namespace) -> None:
    """Print one statistic, or all of them."""
    from hdeeprm_like.formats.jobstat import job_table, jobstat, read_jobs

    jobs = read_jobs(options.workload)
    if options.field == "all":
        sys.stdout.write(job_table(jobs, seed=options.seed).to_string() + "\n")
    elif options.statistic is None:
        raise OptionsError("jobstat: a statistic is needed, as median, max or p95")
    else:
        sys.stdout.write(f"{jobstat(jobs, options.field, options.statistic, seed=options.seed):.10g}\n")


def add_clean(commands: Commands) -> None:
    """Add ``clean``."""
    added = command(
        commands, "clean", "delete the files of a run, those listed in its run.json and no other", run_clean
    )
    added.add_argument("folder", type=Path, metavar="DIR", help="the run")
    added.add_argument("--soft", action="store_true", help="keep the options, the workload and the platform")


def run_clean(options: argparse.Namespace) -> None:
    """Delete the files of a run."""
    from hdeeprm_like.launch import clean

    gone = clean(options.folder, options.soft)
    if not options.quiet:
        sys.stdout.write(f"{len(gone)} files deleted in {options.folder}\n")


def add_schema(commands: Commands) -> None:
    """Add ``schema``."""
    added = command(commands, "schema", "write the JSON schema of the options file", run_schema)
    added.add_argument("--save", "-s", type=Path, metavar="F.json", help="a file in place of standard output")


def run_schema(options: argparse.Namespace) -> None:
    """Write the JSON schema of the options file."""
    from hdeeprm_like.formats.files import write_json
    from hdeeprm_like.options import schema

    if options.save:
        write_json(options.save, schema())
    else:
        sys.stdout.write(json.dumps(schema(), indent=2) + "\n")
