"""The command ``whatif``."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdeeprm_like.cli.arguments import Commands, add_reading_flags, add_trust_flag, command
from hdeeprm_like.cli.names import policies
from hdeeprm_like.cli.slurm import add_watch_options
from hdeeprm_like.errors import OptionsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hdeeprm_like.studies.whatif.answer import Answer


def add_whatif(commands: Commands) -> None:
    """Add ``whatif``."""
    added = command(commands, "whatif", "simulate a log under other policies, more nodes or more load", run_whatif)
    added.named(
        "--jobs",
        ("trace",),
        "FILE",
        "the log: a name, e.g. ctc-sp2, a trace (.swf, .swf.gz, with its .extra.csv beside it if there is one) or the "
        ".csv of an import",
        required=True,
    )
    text = "the platform, e.g. from an import; or a name, e.g. gaia"
    added.named("--machine", ("platform",), "FILE", text)
    add_reading_flags(added, "equal ones, in place of --machine")
    added.option("--now", "P", "the policy of the machine now", default="multifactor+slurm", completes=policies())
    added.option(
        "--policies",
        "P,...",
        "policies to try, e.g. zoo:steady,sjf: through slurm watch if --now is a Slurm; sjf+easy is another scheduler "
        "in its place",
        default="",
        completes=policies(several=True),
    )
    add_watch_options(added)
    added.option(
        "--change",
        "CHANGE",
        "another machine, load or configuration under the policy of --now, e.g. nodes=+10%%, load=1.2, requests=+50%%, "
        "power=-10%%, bf_interval=60, PriorityWeightAge=5000, partition:debug.MaxTime=1:00:00, "
        "account:physics.GrpTRES=cpu=64, user:*.MaxJobs=4, maint:all=FROM/TO, drain:8=FROM/TO; several with ; between "
        "them are changed together; repeat it for more",
        action="append",
        default=[],
    )
    added.switch(
        "--calibrate",
        "fit the overheads of the Slurm of now (how long nodes are completing, when backfill looks) to the first half "
        "of the log, and grade the model on the other half",
    )
    added.path("--output -o", "DIR", "directory of the answer", required=True)
    add_trust_flag(added)


def run_whatif(options: argparse.Namespace) -> None:
    """Answer, and print the sentences."""
    from hdeeprm_like.cluster.pool import pool
    from hdeeprm_like.formats.files import alone_in
    from hdeeprm_like.formats.open import load_platform
    from hdeeprm_like.studies.whatif.answer import answer
    from hdeeprm_like.studies.whatif.changes import change_named
    from hdeeprm_like.studies.whatif.inputs import load_log
    from hdeeprm_like.studies.whatif.mechanism import asked_for
    from hdeeprm_like.studies.whatif.report import write_answer

    if options.machine is None and options.cores is None:
        raise OptionsError("whatif: needs the machine of the log: --machine FILE or --cores N")
    if options.machine is not None and options.cores is not None:
        raise OptionsError("whatif: takes --machine or --cores, not both")
    changes = [change_named(text) for text in options.change]
    policies = [name.strip() for name in options.policies.split(",") if name.strip()]
    machine = pool(options.cores) if options.machine is None else load_platform(options.machine)
    log = load_log(options.jobs, machine, options.leave_out_larger)
    asked = asked_for(options.now, policies, changes, options.interval, options.max_factor)
    with alone_in(options.output):
        found = answer(machine, log, asked, options.calibrate, not options.quiet)
        write_answer(found, options.output)
    if not options.quiet:
        tell(found, options.output)


def tell(found: "Answer", folder: Path) -> None:
    """Print the results."""
    from hdeeprm_like.studies.whatif.fidelity import MEANING
    from hdeeprm_like.studies.whatif.mechanism import ALONE, APART, beside_now, in_place_of_slurm
    from hdeeprm_like.studies.whatif.report import REPORT
    from hdeeprm_like.studies.whatif.wording import duration, interval, sentences

    fidelity = found.fidelity
    if fidelity is not None:
        (real, model), (real_median, median) = map(duration, fidelity.wait), map(duration, fidelity.median)
        sys.stdout.write(
            (f"{fidelity.warning}\n" if fidelity.warning else "")
            + f"grade {fidelity.grade}: {MEANING[fidelity.grade]}\n"
            f"  mean wait {real} recorded, {model} simulated; median {real_median} and {median}; utilization "
            f"{100 * fidelity.utilization[0]:.1f} % and {100 * fidelity.utilization[1]:.1f} %\n"
            f"  order of the waits {fidelity.order:.2f}; {100 * fidelity.close:.0f} % of the starts within 5 minutes; "
            f"{fidelity.left_out:,} of {fidelity.jobs + fidelity.left_out:,} jobs not graded\n\n"
        )
    if found.calibration is not None:
        sys.stdout.write("".join(f"  {line}\n" for line in found.calibration.lines()) + "\n")
    width = max(len(row["name"]) for row in found.rows)

    def tell_rows(rows: "Sequence[dict[str, Any]]", beside: str) -> None:
        sys.stdout.write(f"{'':{width}}  {'mean wait':>13}  {'P95':>13}  {'utilization':>11}  {beside}\n")
        for row in rows:
            beside_text = interval(row, "beside") if row["beside"] is not None else ""
            sys.stdout.write(
                f"{row['name']:{width}}  {duration(row['wait']):>13}  {duration(row['wait_p95']):>13}  "
                f"{100 * row['utilization']:>9.1f} %  {beside_text}".rstrip()
                + "\n"
            )
        sys.stdout.write("\n" + "".join(f"{text}\n" for text in sentences(found, rows)))

    tell_rows(beside_now(found.rows), "against now")
    if apart := in_place_of_slurm(found.rows):
        sys.stdout.write(f"\n{APART}:\n")
        tell_rows(apart, f"{ALONE} against now, the policies against it")
        sys.stdout.write("\n")
    sys.stdout.write("".join(f"{note}\n" for note in found.notes if note.startswith("change ")))
    sys.stdout.write(
        f"{found.jobs:,} jobs; intervals over {found.blocks} blocks of time; the report: {folder / REPORT}\n"
    )
