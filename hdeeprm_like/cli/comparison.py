"""The command ``compare``."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hdeeprm_like.cli.arguments import (
    Commands,
    Parser,
    add_reading_flags,
    add_trust_flag,
    command,
    flags_in,
    next_command,
    seed,
)
from hdeeprm_like.cli.names import one_of, policies
from hdeeprm_like.formats.open import names
from hdeeprm_like.limits import PROCESSES
from hdeeprm_like.results.plots import FORMATS, STYLES

if TYPE_CHECKING:
    from hdeeprm_like.studies.compare.statistics import Rows


def add_compare(commands: Commands) -> None:
    """Add ``compare``."""
    added = command(commands, "compare", "compare scheduling policies on the same windows of a trace", run_compare)
    add_jobs_flags(added)
    added.option(
        "--policies",
        "P,...",
        "an order and its mode, e.g. fcfs, sjf+easy, f1+conservative, sjf+easyP; zoo:NAME or scored:FILE.json for a "
        "learned policy; agent:DIR for an agent trained in DIR; actual for the schedule that the trace records; the "
        "page Policies of the documentation lists all",
        required=True,
        completes=policies("actual", several=True),
    )
    added.option(
        "--reference",
        "P",
        "compare each policy with this one (default: the one with the lowest mean bounded slowdown)",
        completes=policies("actual"),
    )
    added.choice(
        "--tests",
        ("friedman", "anova"),
        "friedman: Friedman's and Wilcoxon's tests, paired by window; anova adds the unpaired ANOVA and Welch's test, "
        "and the paired t-test",
        default="friedman",
    )
    text = "test the mean of each policy against a published one, as bounded_slowdown=67.55 (Student's one-sample t)"
    added.option("--published", "FIGURE=MEAN,...", text)
    text = "directory of the results; an interrupted comparison continues from there"
    added.path("--output", "DIR", text, required=True)
    add_trust_flag(added)
    added.switch("--all", "also print all other figures")
    added.switch("--report", "also write report.html, one page with all results")
    added.option(
        "--figures",
        "NAME,...",
        "figures of table, tests, report and pictures, as bounded_slowdown,energy; the first ranks (default "
        "bounded_slowdown,wait,area_weighted_response_time,utilization, and with --platform energy)",
        completes=one_of("cluster.schedule:FIGURES"),
    )
    text = "also draw boxplot and ranking, which a report includes; a finished comparison is not run again"
    added.switch("--pictures", text)
    text = "formats of the pictures: png, svg, pdf (default png)"
    added.option("--format", "F,...", text, kind=formats, dest="formats", default=("png",))
    added.choice("--style", STYLES, "of the pictures: screen, or paper: small type that goes with Times")
    added.whole("--processes", PROCESSES, "most processes at a time")


def formats(text: str) -> tuple[str, ...]:
    """Return the formats of pictures that an argument lists."""
    found = tuple(part.strip() for part in text.split(","))
    unknown = next((one for one in found if one not in FORMATS), None)
    if unknown is not None:
        raise argparse.ArgumentTypeError(f"{unknown!r:.60} is not known; pictures are {', '.join(FORMATS)}")
    return found


def add_jobs_flags(added: Parser) -> None:
    """Add the flags of the jobs, the machine and the clock."""
    added.named(
        "--trace",
        ("trace", "workload"),
        "SWF",
        "the trace: a name, e.g. lublin-1, or a file, plain or .gz; or a workload, or a folder of workloads, in JSON "
        "or KSU's CSV, each simulated whole on the machine of --platform",
        required=True,
    )
    added.option(
        "--windows",
        "NxJ",
        "windows and jobs of each, drawn at random (default 10x1024); disjoint:NxJ for N that share no job, disjoint:N "
        "for 1024 jobs of each; all for the whole trace as one",
    )
    added.named(
        "--offsets",
        ("offsets",),
        "CSV",
        "take the first jobs of the windows from the column start_index, counted from 0 among the jobs; NxJ takes the "
        "first N of them",
    )
    added.option("--seed", "SEED", "seed of the places of random windows", kind=seed, default=1)
    text = "order of jobs with one submission time: by place in the file or by number"
    added.choice("--jobs-by", ("file", "id"), text, default="file")
    add_reading_flags(added)
    shown = f"a machine in place of a pool: a name, e.g. gaia, or a file: {names('platform')}"
    added.named("--platform", ("platform",), "FILE", shown)
    text = "decide once for all events of one time, after each event, or as Batsim does"
    added.choice("--clock", ("textbook", "one-by-one", "batsim"), text, default="textbook")
    added.switch("--whole", "baselines place each job on a single node")


def run_compare(options: argparse.Namespace) -> None:
    """Compare, and print the summary."""
    from hdeeprm_like.decision.compared_policies import policies_named
    from hdeeprm_like.studies.compare.figures import figures_named
    from hdeeprm_like.studies.compare.inputs import Comparison
    from hdeeprm_like.studies.compare.run import run_comparison
    from hdeeprm_like.studies.compare.sampling import windows_named
    from hdeeprm_like.studies.compare.statistics import published_named

    policies, windows = policies_named(options.policies), windows_named(options.windows, options.offsets)
    published, shown = published_named(options.published), figures_named(options.figures)
    comparison = flags_in(options, Comparison, policies=policies, windows=windows, published=published, figures=shown)
    pictures = options.formats if options.pictures else ()
    summary, tests = run_comparison(
        comparison, options.output, options.processes, not options.quiet, pictures, options.style
    )
    if options.report:
        from hdeeprm_like.studies.compare.page import write_comparison_page

        write_comparison_page(options.output, options.output / "report.html")
    if not options.quiet:
        write_text(summary, tests, comparison.shown, options)


def write_text(summary: "Rows", tests: "Rows", shown: Sequence[str], options: argparse.Namespace) -> None:
    """Print the results."""
    from hdeeprm_like.studies.compare.inputs import is_workload
    from hdeeprm_like.studies.compare.text import format_all, format_differences, format_published, format_summary

    sys.stdout.write(format_summary(summary, shown))
    differences = format_differences(summary, tests, options.reference is not None, shown)
    for more in (differences, format_published(tests)):
        sys.stdout.write("\n" + more if more else "")
    sys.stdout.write("\n" + format_all(summary) if options.all else "")
    windows, jobs = summary[0]["windows"], int(summary[0]["jobs_run"])
    over = f"mean over {windows} windows of {jobs} jobs; maxima of all"
    if is_workload(options.trace):
        over = f"mean over {windows} workloads of {jobs} jobs, on average; maxima of all"
    elif windows == 1:
        over = f"one window of {jobs} jobs, which gives no intervals"
    sys.stdout.write(f"\n{over}; tables{' and pictures' if options.pictures else ''} in {options.output}\n")
    if not options.report:
        sys.stdout.write(next_command("report", options.output, "--output", options.output / "report.html"))
