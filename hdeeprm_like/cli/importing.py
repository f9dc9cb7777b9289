"""The command ``import``: logs and machines of real clusters."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdeeprm_like.cli.arguments import Commands, Parser, command, tell
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.limits import CORES

if TYPE_CHECKING:
    from hdeeprm_like.cluster.account import Account
    from hdeeprm_like.importers.jobs import JobStore
    from hdeeprm_like.importers.machine import Machine
    from hdeeprm_like.importers.sacct import Reading

MAPS = (
    "eagle, pm100, fdata, frontier, pbs (also Torque), lsf, gridengine, oar, cobalt, htcondor, kueue (also Volcano), "
    "or a file of yours"
)
TRACES = (".swf", ".swf.gz", ".csv", ".csv.gz")
PLATFORMS = (".json",)


def add_import(commands: Commands) -> None:
    """Add ``import`` and its kinds of input."""
    purpose = "make a trace or a platform from files of a real cluster"
    added = commands.add_parser("import", help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")
    kinds = added.add_subparsers(dest="importer", metavar="KIND", required=True)
    _add_sacct(kinds)
    _add_jobcomp(kinds)
    _add_table(kinds)
    _add_machine(kinds, "slurm-conf", "make a platform from a slurm.conf", _run_slurm_conf, one=True)
    _add_machine(kinds, "scontrol", "make a platform from the output of scontrol show", _run_scontrol, one=False)


def _add_sacct(kinds: Commands) -> None:
    added = command(kinds, "sacct", "make a trace from Slurm's accounting", _run_sacct)
    added.path("file", "FILE", "output of sacct -P, plain or packed; - for stdin", nargs="?")
    added.add_argument(
        "--command", dest="show", action="store_true", help="print the command to run on the cluster, and end"
    )
    added.option("--separator", "C", "separator of columns", default="|")
    added.option("--time-format", "F", "format of times that are neither ISO nor seconds, e.g. %%d/%%m/%%y")
    _add_slurm_flags(added)


def _add_jobcomp(kinds: Commands) -> None:
    added = command(kinds, "jobcomp", "make a trace from Slurm's log of ended jobs (jobcomp/filetxt)", _run_jobcomp)
    added.path("file", "FILE", "the file that JobCompLoc names, plain or packed; - for stdin")
    _add_slurm_flags(added)


def _add_slurm_flags(added: Parser) -> None:
    added.choice(
        "--requeues",
        ("last", "one", "all"),
        "runs of a requeued job that count as jobs: the last, all, or one job of them that arrives as the "
        "first and runs as the last, for a model with preemption; sacct -D shows all",
        default="last",
    )
    text = "arrival of a job that is held, depends on another or begins later"
    added.choice("--arrival", ("eligible", "submit"), text, default="eligible")
    added.option("--time-limit", "T", "time limit of jobs without one (UNLIMITED, Partition_Limit), e.g. 2-00:00:00")
    _add_trace_flags(added)


def _add_table(kinds: Commands) -> None:
    added = command(kinds, "table", "make a trace from a log by a map of its columns", _run_table)
    shown = "CSV, a log of PBS or LSF or the like, plain or packed; Parquet with pyarrow; or a name, e.g. eagle"
    added.named("file", ("log",), "FILE", shown)
    added.option("--map", "TOML", MAPS, required=True)
    _add_trace_flags(added)


def _add_trace_flags(added: Parser) -> None:
    added.path("--output -o", "FILE.swf|csv", "the trace, also .gz")
    added.option("--timezone", "ZONE", "time zone of local times, e.g. Europe/Madrid")
    shown = "imported platform: its cores and time limits"
    added.named("--platform", ("platform",), "JSON", shown)
    added.whole("--cores", CORES, "cores of the machine (default: most in use at once)")
    added.switch("--anonymize", "write hashes for users, accounts, partitions, QOS and reservations")
    added.option("--salt", "TEXT", "salt of the hashes, a secret (default random)")
    added.path("--report", "JSON", "also write what was read and left out")


def _add_machine(
    kinds: Commands, name: str, purpose: str, run: Callable[[argparse.Namespace], None], *, one: bool
) -> None:
    added = command(kinds, name, purpose, run)
    if one:
        added.path("file", "FILE", "the configuration; included files are beside it")
    else:
        shown = "scontrol show nodes, show partitions and show config, as text or --json, in one file or several"
        added.path("files", "FILE", shown, nargs="+")
    added.path("--output -o", "FILE.json", "the platform", default=Path("platform.json"))
    added.path("--associations", "FILE", "limits and shares: what sacctmgr -P show assoc prints")
    added.path("--qos", "FILE", "what sacctmgr -P show qos prints")
    added.path("--report", "JSON", "also write what was read and left out")


def _run_sacct(options: argparse.Namespace) -> None:
    from hdeeprm_like.importers.sacct import COMMAND, read_sacct

    if options.show:
        sys.stdout.write(f"{COMMAND}\n")
        return
    if options.file is None:
        raise OptionsError("import sacct: FILE is missing; import sacct --command prints the command that writes it")
    if not options.separator:
        raise OptionsError("--separator: is empty; give at least one character")
    _run_slurm_log(options, "Slurm's sacct", read_sacct, separator=options.separator.replace("\\t", "\t"))


def _run_jobcomp(options: argparse.Namespace) -> None:
    from hdeeprm_like.importers.jobcomp import read_jobcomp

    _run_slurm_log(options, "Slurm's jobcomp", read_jobcomp)


def _run_slurm_log(
    options: argparse.Namespace, kind: str, read: Callable[[Path, "Reading", "Account"], "JobStore"], **more: str
) -> None:
    """Make a trace from a log of Slurm by the reader *read*; *more* goes to the `Reading` of one kind of log."""
    from hdeeprm_like.cluster.account import Account
    from hdeeprm_like.importers.sacct import Reading

    _check_trace(options)
    cores, limits = _of_platform(options)
    reading = Reading(
        zone=options.timezone,
        form=getattr(options, "time_format", None),
        requeues=options.requeues,
        arrival=options.arrival,
        limit=_limit(options.time_limit),
        limits=tuple(limits.items()),
        **more,
    )
    _finish(read(options.file, reading, Account(str(options.file), form=kind)), options, cores)


def _run_table(options: argparse.Namespace) -> None:
    from hdeeprm_like.cluster.account import Account
    from hdeeprm_like.importers.column_maps import read_map
    from hdeeprm_like.importers.table import read_table

    _check_trace(options)
    columns = read_map(options.map)
    cores, _ = _of_platform(options)
    report = Account(str(options.file), form=f"the log {columns.name}")
    _finish(read_table(options.file, columns, report, options.timezone), options, cores)


def _run_slurm_conf(options: argparse.Namespace) -> None:
    from hdeeprm_like.cluster.account import Account
    from hdeeprm_like.importers.slurm_conf import read_slurm_conf

    _check_files(options, PLATFORMS, options.file, options.associations, options.qos)
    report = Account(str(options.file), form="slurm.conf")
    _write_machine(read_slurm_conf(options.file, report), report, options)


def _run_scontrol(options: argparse.Namespace) -> None:
    from hdeeprm_like.cluster.account import Account
    from hdeeprm_like.importers.scontrol import read_scontrol

    _check_files(options, PLATFORMS, *options.files, options.associations, options.qos)
    report = Account(", ".join(map(str, options.files)), form="scontrol show")
    _write_machine(read_scontrol(options.files, report), report, options)


def _write_machine(machine: "Machine", report: "Account", options: argparse.Namespace) -> None:
    """Write a platform, with what the database says of accounts and QOS if it is given."""
    from hdeeprm_like.importers.associations import read_associations, read_qos
    from hdeeprm_like.importers.machine import tell, write_platform

    if options.associations is not None:
        read_associations(options.associations, machine, report)
    if options.qos is not None:
        read_qos(options.qos, machine, report)
    write_platform(machine, options.output, report)
    tell(machine, report)
    _show(report, options, [options.output])


def _check_trace(options: argparse.Namespace) -> None:
    if options.output is None:
        raise OptionsError("--output: is missing; give a name such as jobs.swf or jobs.csv")
    _check_files(options, TRACES, options.file, options.platform)
    if options.salt is not None and not options.anonymize:
        raise OptionsError("--salt: needs --anonymize")
    if options.cores is not None and options.platform is not None:
        raise OptionsError("--cores: --platform sets the cores; omit one of the two")


def _check_files(options: argparse.Namespace, endings: tuple[str, ...], *read: Path | None) -> None:
    """Raise unless the output has one of some endings, and nothing that is read would be overwritten."""
    from hdeeprm_like.formats.files import check_not_read
    from hdeeprm_like.importers.trace_files import extra_path

    path = options.output
    for flag, written in (("--output: ", path), ("--output: ", extra_path(path)), ("--report: ", options.report)):
        if written is not None:
            check_not_read(flag, written, *read)
    if not path.name.endswith(endings):
        wanted = f"{', '.join(endings[:-1])} or {endings[-1]}" if len(endings) > 1 else endings[0]
        raise OptionsError(f"--output: {path.name}: a name that ends in {wanted} is needed")


def _limit(text: str | None) -> float:
    """Return a time limit in s, -1 for none."""
    from hdeeprm_like.importers.fields import time_limit

    if text is None:
        return -1.0
    try:
        return time_limit(text)
    except ValueError:
        raise OptionsError(f"--time-limit: {text[:40]!r}: a time such as 2-00:00:00 is needed") from None


def _of_platform(options: argparse.Namespace) -> tuple[int | None, dict[str, float]]:
    """Return the cores of the machine, and the longest time of a job in each partition, None or empty if unknown."""
    if options.platform is None:
        return options.cores, {}
    from hdeeprm_like.errors import PlatformError
    from hdeeprm_like.formats.open import load_platform
    from hdeeprm_like.inputs import read_json

    cores = load_platform(options.platform).cores
    content: Any = read_json(options.platform, PlatformError) if options.platform.suffix == ".json" else {}
    limits: dict[str, float] = {}
    carried = content.get("slurm")
    for partition in carried.get("partitions", []) if isinstance(carried, dict) else []:
        if partition.get("MaxTime"):
            limits[partition["name"]] = float(partition["MaxTime"])
    return cores, limits


def _finish(store: "JobStore", options: argparse.Namespace, cores: int | None) -> None:
    """Write the trace and the report."""
    import secrets

    from hdeeprm_like.importers.trace_files import tell, write_trace

    if options.anonymize:
        store.salt = options.salt.encode() if options.salt else secrets.token_bytes(16)
    written = write_trace(store, options.output, cores)
    tell(store, options.output, cores)
    _show(store.report, options, written)


def _show(report: "Account", options: argparse.Namespace, written: list[Path]) -> None:
    if options.report is not None:
        from hdeeprm_like.formats.files import write_json

        write_json(options.report, report.content())
    tell(options, f"{report.text()}  written: {', '.join(map(str, written))}")
