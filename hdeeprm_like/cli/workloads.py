"""The commands that make, cut and fetch workloads."""

import argparse
import sys
from typing import Any, Literal

from hdeeprm_like.cli.arguments import Commands, at_most, command, factor, gflops, seed, tell
from hdeeprm_like.cli.names import one_of
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.formats.open import Holds, check_writable, endings, load_trace, write, write_jobs
from hdeeprm_like.limits import CORES, JOBS, WINDOWS

GIGA = 1e9


def add_workload_commands(commands: Commands) -> None:
    """Add ``generate``, ``cut`` and ``fetch-trace``."""
    add_generate(commands)
    add_cut(commands)
    add_fetch_trace(commands)


def add_generate(commands: Commands) -> None:
    """Add ``generate``."""
    added = command(commands, "generate", "generate jobs by a published model", run_generate)
    added.option("model", "MODEL", "lublin, mao, ksu or campaigns")
    added.path("--output -o", file_name("workload", "trace", able="write_jobs"), "the file to write", required=True)
    added.whole("--jobs", JOBS, "number of jobs (mao: default one episode)")
    added.option("--seed", "SEED", "seed of all random draws", kind=seed, required=True)
    text = "published parameters, e.g. batch, interactive, whole, both; deeprm, scenario-1"
    added.option("--preset", "PRESET", text)
    added.whole("--nodes", CORES, "cores of the machine, in place of the preset's")
    setting = "a parameter of the model, in JSON; repeat it for more"
    added.option("--set", "NAME=VALUE", setting, dest="parameters", action="append", default=[])
    added.option("--estimates", "NAME", "requested times: exact, gaussian, tsafrir, accuracy")
    setting = "a parameter of --estimates, e.g. nu=0.5 or side=under"
    added.option("--estimate", "NAME=VALUE", setting, dest="estimate", action="append", default=[])
    shown = "ksu: a trace to sample from in place of a model: a name, e.g. gaia, or a file"
    added.named("--log", ("trace",), "SWF", shown)
    added.option("--load", "L", "scale the times between submissions to the load L, e.g. 0.9", kind=factor)
    added.switch("--as-published", "lublin: with the clock error of the published program")
    added.switch("--hdeeprm", "draw bandwidths, and memories if the model has none")
    added.option("--gflops", "G", "speed of the cores that the times refer to, for JSON", kind=gflops, default=1.0)


def run_generate(options: argparse.Namespace) -> None:
    """Make jobs and write them."""
    import numpy as np

    from hdeeprm_like.cluster.synthetic.lublin import Lublin, LublinTypes
    from hdeeprm_like.cluster.synthetic.models import Recipe, estimates_named, model_named
    from hdeeprm_like.formats.job_reading import Reading, read_jobs
    from hdeeprm_like.formats.swf_cuts import jobs_of_trace

    check_writable(options.output, "workload", "trace", able="write_jobs", what="--output")
    model = model_named(options.model, options.preset, settings(options.parameters, "--set"), options.nodes, "--set")
    if options.as_published:
        if not isinstance(model, Lublin | LublinTypes):
            raise OptionsError("--as-published: needs the model lublin")
        model = model.drifting()
    estimates = None
    if options.estimates:
        estimates = estimates_named(options.estimates, settings(options.estimate, "--estimate"), "--estimates")
    elif options.estimate:
        raise OptionsError("--estimate: needs --estimates")
    log = None
    if options.log:
        if options.model != "ksu":
            raise OptionsError("--log: needs the model ksu")
        log = jobs_of_trace(read_jobs(options.log, Reading(larger="keep")))
    recipe = Recipe(model, estimates, "hdeeprm" if options.hdeeprm else "model", log)
    jobs = recipe.jobs(options.jobs, np.random.default_rng(options.seed))
    jobs = jobs if options.load is None else jobs.at_load(options.load)
    write_jobs(jobs, options.output, options.gflops * GIGA)
    tell(options, f"{len(jobs)} jobs in {options.output}")


def file_name(*holds: Holds, able: Literal["write", "write_jobs"]) -> str:
    """Return the metavar of an output file: ``FILE.swf|swf.gz``."""
    return "FILE" + "|".join(endings(*holds, able=able)).replace("|.", "|")


def settings(texts: list[str], flag: str) -> dict[str, Any]:
    """Parse ``NAME=VALUE``, with dots in names for what is nested; a value that is no JSON is a string."""
    import json

    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise OptionsError(f"{flag}: {text!r}: NAME=VALUE is needed")
        *parents, last = name.split(".")
        place = found
        for parent in parents:
            place = place.setdefault(parent, {})
            if not isinstance(place, dict):
                raise OptionsError(f"{flag}: {name}: {parent!r} already has a value")
        try:
            place[last] = json.loads(value)
        except (ValueError, RecursionError):
            place[last] = value
    return found


def add_cut(commands: Commands) -> None:
    """Add ``cut``."""
    added = command(commands, "cut", "write a part of a trace, or windows of it", run_cut)
    shown = "the trace: a name, e.g. gaia, or a file (SWF, plain or .gz)"
    added.named("trace", ("trace",), "SWF", shown)
    added.path("--output -o", file_name("trace", able="write"), "the file to write", required=True)
    added.whole("--first", JOBS, "jobs to keep after the other cuts")
    added.whole("--skip", JOBS, "jobs to leave out at the beginning", default=0, least=0)
    text = "leave out jobs with more than N processors"
    added.whole("--larger-than", CORES, text)
    added.option("--from", "S", "earliest submission on its clock, s", kind=float, dest="begin")
    added.option("--to", "S", "end: later submissions are left out, s", kind=float, dest="end")
    added.option("--load", "F", "factor of the load: 2 halves times between submissions", kind=factor)
    added.option("--windows", "COUNTxJOBS", "draw windows, one numbered FILE each", kind=window)
    added.option("--seed", "SEED", "seed of the windows", kind=seed, default=0)


def run_cut(options: argparse.Namespace) -> None:
    """Write a part of a trace, or windows of it."""
    import numpy as np

    from hdeeprm_like.formats.files import check_not_read
    from hdeeprm_like.formats.swf_cuts import cut, scale_gaps, windows

    check_writable(options.output, "trace", able="write", what="--output")
    check_not_read("--output: ", options.output, options.trace)
    trace = cut(
        load_trace(options.trace),
        first=options.first,
        skip=options.skip,
        begin=options.begin,
        end=options.end,
        larger_than=options.larger_than,
    )
    if options.load is not None:
        trace = scale_gaps(trace, 1 / options.load)
    if options.windows is None:
        write(trace, options.output, "trace")
        written = [options.output]
    else:
        count, jobs = options.windows
        ending = next(own for own in endings("trace", able="write") if options.output.name.endswith(own))
        stem = options.output.name.removesuffix(ending)
        written = [options.output.with_name(f"{stem}-{number}{ending}") for number in range(1, count + 1)]
        rng = np.random.default_rng(options.seed)
        for path, part in zip(written, windows(trace, jobs, count, rng), strict=True):
            write(part, path, "trace")
    if not options.quiet:
        size = len(trace) if options.windows is None else options.windows[1]
        sys.stdout.write("".join(f"{size} jobs in {path}\n" for path in written))


def add_fetch_trace(commands: Commands) -> None:
    """Add ``fetch-trace``."""
    added = command(commands, "fetch-trace", "download a trace of the Parallel Workloads Archive", run_fetch_trace)
    shown = "e.g. CTC-SP2-1996-3.1-cln; an unknown name lists all names"
    added.option("name", "NAME", shown, completes=one_of("formats.archive:TRACES"))
    added.path("--folder", "DIR", "folder of downloaded traces (default: in the user's cache)")
    added.option("--site", "URL", "address of the archive, if it has moved")


def run_fetch_trace(options: argparse.Namespace) -> None:
    """Download a trace unless it exists, and print its path."""
    from tqdm import tqdm

    from hdeeprm_like.formats.archive import ARCHIVE, fetch_trace

    bar_options = {"unit": "B", "unit_scale": True, "desc": options.name, "delay": 1.0, "leave": False}
    with tqdm(disable=options.quiet, **bar_options) as bar:

        def progress(arrived: int, total: int | None) -> None:
            bar.total = total
            bar.update(arrived - bar.n)

        path, _ = fetch_trace(options.name, options.folder, site=options.site or ARCHIVE, progress=progress)
    sys.stdout.write(f"{path}\n")


def window(text: str) -> tuple[int, int]:
    """Parse ``10x1024``."""
    count, _, jobs = text.partition("x")
    return at_most(WINDOWS)(count), at_most(JOBS)(jobs)
