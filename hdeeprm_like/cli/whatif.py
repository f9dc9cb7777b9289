"""The command ``whatif``."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hdeeprm_like.cli.arguments import Commands, at_most, command
from hdeeprm_like.cli.names import add_named, completed_policies
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.limits import CORES

if TYPE_CHECKING:
    from hdeeprm_like.studies.whatif.answer import Answer


def add_whatif(commands: Commands) -> None:
    """Add ``whatif``."""
    added = command(
        commands, "whatif", "tell what other policies, more nodes or more load would have meant for a log", run_whatif
    )
    add_named(
        added,
        "--jobs",
        kinds=("trace",),
        required=True,
        metavar="FILE",
        help="the log: a name, as ctc-sp2, a trace (.swf, .swf.gz, with its .extra.csv beside it if there is one) or "
        "the .csv of an import",
    )
    told = "the platform, as an import writes it; or a name, as gaia"
    add_named(added, "--machine", kinds=("platform",), metavar="FILE", help=told)
    added.add_argument("--cores", type=at_most(CORES), metavar="N", help="in place of --machine: so many alike cores")
    now = added.add_argument(
        "--now",
        default="multifactor+slurm",
        metavar="P",
        help="the policy that stands for what the machine does now (default multifactor+slurm)",
    )
    completed_policies(now)
    told = "others to try, as zoo:balanced,sjf+easy"
    completed_policies(added.add_argument("--policies", default="", metavar="P,...", help=told), several=True)
    added.add_argument(
        "--change",
        action="append",
        default=[],
        metavar="CHANGE",
        help="another machine or load under the policy of now: nodes=+10%%, nodes=-16, load=1.2; may be given again",
    )
    added.add_argument("--output", "-o", type=Path, required=True, metavar="DIR", help="where the answer is written")


def run_whatif(options: argparse.Namespace) -> None:
    """Answer, and print the sentences."""
    from hdeeprm_like.studies.whatif.answer import answer
    from hdeeprm_like.studies.whatif.changes import change_named
    from hdeeprm_like.studies.whatif.inputs import load_log, load_machine, machine_of_cores
    from hdeeprm_like.studies.whatif.report import write_answer

    if (options.machine is None) == (options.cores is None):
        raise OptionsError("whatif: one of --machine FILE and --cores N is needed")
    changes = [change_named(text) for text in options.change]
    policies = [name.strip() for name in options.policies.split(",") if name.strip()]
    machine = machine_of_cores(options.cores) if options.machine is None else load_machine(options.machine)
    found = answer(machine, load_log(options.jobs, machine), options.now, policies, changes)
    write_answer(found, options.output)
    if not options.quiet:
        tell(found, options.output)


def tell(found: "Answer", folder: Path) -> None:
    """Print what was found."""
    from hdeeprm_like.studies.whatif.fidelity import MEANING
    from hdeeprm_like.studies.whatif.report import REPORT, duration, interval, sentence

    told = found.fidelity
    if told is not None:
        real, model = map(duration, told.wait)
        sys.stdout.write(
            f"fidelity {told.grade}: {MEANING[told.grade]}\n"
            f"  mean wait {real} recorded, {model} simulated; order of the waits {told.order:.2f}; utilization "
            f"{100 * told.utilization[0]:.1f} % and {100 * told.utilization[1]:.1f} %\n\n"
        )
    width = max(len(row["name"]) for row in found.rows)
    sys.stdout.write(f"{'':{width}}  {'mean wait':>13}  {'P95':>13}  {'utilization':>11}  to now\n")
    for place, row in enumerate(found.rows):
        told_so = interval(row, "wait") if place else ""
        sys.stdout.write(
            f"{row['name']:{width}}  {duration(row['wait']):>13}  {duration(row['wait_p95']):>13}  "
            f"{100 * row['utilization']:>9.1f} %  {told_so}".rstrip()
            + "\n"
        )
    sys.stdout.write("\n" + "".join(f"{sentence(row)}\n" for row in found.rows[1:]))
    sys.stdout.write(f"{found.jobs:,} jobs, {found.blocks} blocks of time; the report: {folder / REPORT}\n")
