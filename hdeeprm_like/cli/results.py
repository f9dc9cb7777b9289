"""The commands on results: ``visual``, ``metrics``, ``jobstat``, ``schema``."""

import argparse
import re
import sys
from typing import Any

from hdeeprm_like.cli.arguments import (
    Commands,
    add_json_flag,
    add_reading_flags,
    command,
    moment,
    print_json,
    seed,
    tell,
)
from hdeeprm_like.cli.names import one_of
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.formats.open import names
from hdeeprm_like.results import plots
from hdeeprm_like.results.plots import CLASSES, COLOURED_BY, PICTURES, SEVERAL, STYLES

PAPER_SIZES = {"column": (3.5, 2.3), "page": (7.2, 3.4)}  # inches
SMALLEST, LARGEST = 1.0, 60.0  # inches
RATES = {"tariff": "the price of a kWh", "carbon": "the kg of CO2 that a kWh emits"}
ROWS = {"tariff": "cost of the energy", "carbon": "CO2 (kg)"}


def add_visual(commands: Commands) -> None:
    """Add ``visual``."""
    added = command(commands, "visual", "draw a run", run_visual)
    added.option(
        "kind",
        "KIND",
        f"kind of picture: {', '.join(PICTURES)}; for several runs: {', '.join(SEVERAL)}",
        completes=one_of(also=(*PICTURES, *SEVERAL)),
    )
    added.path("--run", "DIR", "the run", dest="folders", required=True, action="append")
    added.path("--save -s", "F.png|svg|pdf", "file of the picture; without it a window opens")
    added.option("--from", "S", "show the time from here on", kind=moment, dest="begin", default=0.0)
    added.option("--to", "S", "up to here, in s of the simulation", kind=moment, dest="end")
    added.option("--user", "NAME", "show the jobs of this user, as workload.json names it")
    text = f"colour the jobs of a Gantt chart by {', '.join(COLOURED_BY)}, or group those of ecdf and boxes by "
    added.option("--by", "WHAT", text + ", ".join(CLASSES))
    added.option("--title", "TEXT", "above the picture, in place of the usual; '' for none")
    text = "width and height, as 8.4x6cm or 3.5x2.3in, or column or page: of a two-column paper, in inches"
    added.option("--size", "WxH", text, kind=size)
    text = "paper: small type that goes with Times, no title, thin lines, one column wide unless --size says otherwise"
    added.choice("--style", STYLES, text, default="screen")


def size(text: str) -> tuple[float, float]:
    """Return the width and height in inches that an argument gives."""
    if text in PAPER_SIZES:
        return PAPER_SIZES[text]
    found = re.fullmatch(r"([0-9.]{1,8})x([0-9.]{1,8})(cm|in)?", text)
    try:
        scale = 1.0 / 2.54 if found and found[3] == "cm" else 1.0
        width, height = (float(part) * scale for part in found.group(1, 2)) if found else (0.0, 0.0)
    except ValueError:
        width = height = 0.0
    if not (SMALLEST <= width <= LARGEST and SMALLEST <= height <= LARGEST):
        sizes = f"{SMALLEST:g} to {LARGEST:g} inches each way, as 8.4x6cm or 3.5x2.3in, or {' or '.join(PAPER_SIZES)}"
        raise argparse.ArgumentTypeError(f"{text!r:.80} is no size; give {sizes}")
    return width, height


def run_visual(options: argparse.Namespace) -> None:
    """Draw a run, or several above one another."""
    end = float("inf") if options.end is None else options.end
    if end <= options.begin:
        raise OptionsError(f"--to: {end:g} s is not after --from, {options.begin:g} s")
    from hdeeprm_like.results.pictures import Look

    part = plots.Part(options.begin, end, options.user)
    look = Look(options.title, options.size, options.style)
    if options.kind in SEVERAL:
        if part != plots.WHOLE or options.by is not None:
            message = f"apply to one run; `visual {options.kind}` shows whole runs"
            raise OptionsError(f"--from, --to, --user and --by: {message}")
        draw_several = plots.compare if options.kind == "compare" else plots.difference
        draw_several(options.folders, options.save, look)
    elif len(options.folders) > 1:
        raise OptionsError("--run: a picture shows one directory; `visual compare` takes several")
    else:
        plots.draw(options.kind, options.folders[0], options.save, part=part, by=options.by, look=look)
    if options.save:
        tell(options, f"{options.kind} of {', '.join(map(str, options.folders))} in {options.save}")


def add_metrics(commands: Commands) -> None:
    """Add ``metrics``."""
    added = command(commands, "metrics", "compare metrics of runs", run_metrics)
    added.path("folders", "DIR", "runs, or files out_schedule.csv or schedule.json", nargs="*")
    added.path("--save -s", "F.png|svg|pdf", "also draw the most important ones")
    added.path("--csv", "F.csv", "also write them with all digits")
    added.switch("--short", "print only the most important ones")
    add_json_flag(added)
    added.switch("--explain", "also print what each figure means; DIR is then optional")
    for name, of in RATES.items():
        text = f"time (s), value: {of} from then on"
        added.named(f"--{name}", ("rates",), "F.csv", text)


def run_metrics(options: argparse.Namespace) -> None:
    """Print the figures of runs, and draw them if requested."""
    import pandas as pd

    from hdeeprm_like.results import report

    wanted = report.SHORT if options.short else None
    if not options.folders:
        if not options.explain:
            raise OptionsError("metrics: name at least one run, or give --explain; see hdeeprm-like metrics --help")
        sys.stdout.write(report.meanings(wanted))
        return
    table = report.metrics_table(options.folders)
    given = {row: path for name, row in ROWS.items() if (path := getattr(options, name)) is not None}
    rated = report.rates_table(options.folders, given)
    if options.save:
        report.metrics_grid(options.folders, options.save)
    if options.csv:
        report.write_table(pd.concat([table, rated]), options.csv)
    if options.json:
        print_json(report.as_record(table, wanted) | ({"rates": rated.to_dict()} if given else {}))
    elif not options.quiet:
        sys.stdout.write(report.format_table(table, wanted))
        if given:
            sys.stdout.write("\n" + rated.to_string(float_format="{:,.2f}".format, index_names=False) + "\n")
        if options.explain:
            sys.stdout.write("\n" + report.meanings(wanted))


def add_jobstat(commands: Commands) -> None:
    """Add ``jobstat``."""
    added = command(commands, "jobstat", "print statistics of the requests of jobs", run_jobstat)
    text = f"jobs: a name, e.g. gaia, or a file: {names('workload', 'trace')}"
    added.named("workload", ("trace", "workload"), None, text)
    added.option(
        "field",
        "FIELD",
        "req_time, size, mem, mem_bw, submit, or all for the whole table; without it the account of the jobs is "
        "printed: what was left out, changed and guessed, and in which lines",
        nargs="?",
        completes=one_of("studies.jobstat:FIELDS", also=("all",)),
    )
    added.option(
        "statistic",
        "STATISTIC",
        "min, max, mean, median, std, sum, count, p95 ...",
        nargs="?",
        completes=one_of("studies.jobstat:STATISTICS"),
    )
    add_reading_flags(added)
    add_json_flag(added)
    added.option("--seed", "SEED", "seed of the bandwidths, which a trace does not have", kind=seed)
    added.epilog = "With --quiet one statistic is printed as a number alone."


def run_jobstat(options: argparse.Namespace) -> None:
    """Print one statistic, or all of them."""
    from hdeeprm_like.studies.jobstat import FIELDS, job_table, jobs_in, jobstat

    jobs, asked = jobs_in(options.workload, options.cores, options.leave_out_larger), (options.field, options.statistic)
    if options.field is None:
        assert jobs.account is not None
        text, content = jobs.account.text(), dict[Any, Any](jobs.account.content())
    elif options.field == "all":
        table = job_table(jobs, seed=options.seed)
        text, content = table.to_string() + "\n", table.to_dict()
    elif options.statistic is None:
        raise OptionsError("jobstat: STATISTIC is missing; give e.g. median, max or p95")
    else:
        value, unit = jobstat(jobs, options.field, options.statistic, seed=options.seed), FIELDS[options.field][0]
        unit = "jobs" if options.statistic == "count" else unit
        text = f"{value:.10g}\n" if options.quiet else f"{' '.join(asked)}: {value:.10g} {unit}\n"
        content = dict(zip(("field", "statistic", "value", "unit"), (*asked, value, unit), strict=True))
    if options.json:
        print_json(content)
    else:
        sys.stdout.write(text)


def add_schema(commands: Commands) -> None:
    """Add ``schema``."""
    added = command(commands, "schema", "write the JSON schema of the options file", run_schema)
    added.path("--save -s", "F.json", "write to a file instead of standard output")


def run_schema(options: argparse.Namespace) -> None:
    """Write the JSON schema of the options file."""
    import json

    from hdeeprm_like.formats.files import write_json
    from hdeeprm_like.options import schema

    if options.save:
        write_json(options.save, schema())
    else:
        sys.stdout.write(json.dumps(schema(), indent=2) + "\n")
