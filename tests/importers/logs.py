"""What the tests of importers share: recordings of a real Slurm, and small logs made by hand."""

import csv
from pathlib import Path

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.formats.swf import read_swf
from hdeeprm_like.importers.sacct import Reading, read_sacct
from hdeeprm_like.importers.trace_files import extra_path, write_trace

ROOT = Path(__file__).parent.parent.parent
RECORDED = ROOT / "tests" / "golden" / "slurm"
EAGLE = ROOT / "workloads" / "eagle_1000.csv.gz"

USUAL = {
    **{"JobID": "1", "User": "ada", "Account": "math", "Partition": "batch", "QOS": "normal", "State": "COMPLETED"},
    **{"Submit": "2024-01-10T10:00:00", "Eligible": "2024-01-10T10:00:00", "Start": "2024-01-10T10:01:00"},
    **{"End": "2024-01-10T10:03:00", "Elapsed": "00:02:00", "Timelimit": "01:00:00", "NCPUS": "4", "ReqCPUS": "4"},
    **{"NNodes": "2", "ReqMem": "2800Mc", "AllocTRES": "billing=4,cpu=4,mem=11200M,node=2"},
}


def log(folder, *rows, columns=tuple(USUAL), name="sacct.txt", separator="|", end="\n"):
    """A log with a line for each dictionary of what is not usual."""
    lines = [separator.join(columns)]
    lines += [separator.join((USUAL | row).get(column, "") for column in columns) for row in rows]
    path = folder / name
    path.write_bytes(end.join([*lines, ""]).encode())
    return path


def imported(path, **how):
    """The trace, the columns beside it, and the report of a log."""
    cores = how.pop("cores", None)
    return written(read_sacct(path, Reading(**how), Account(str(path), form="sacct")), path, cores)


def written(store, path, cores=None):
    """The same of jobs that were read already."""
    swf = path.parent / f"{path.name}.swf"
    write_trace(store, swf, cores)
    with extra_path(swf).open(newline="") as file:
        return read_swf(swf), list(csv.DictReader(file)), store.report


def misread(account):
    """How many values of each column were not understood."""
    return {column: one.jobs for column, one in account.entries.items() if one.example}


def figures(trace, *names):
    """Some columns of a trace as lists."""
    return tuple(getattr(trace, name).tolist() for name in names)
