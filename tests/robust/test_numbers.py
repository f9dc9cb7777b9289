"""A number in a file may have any number of digits, of any script: it is read, or the file is refused."""

import contextlib
import json
import re
from functools import partial

import pytest
from robust_inputs import ROOT, machine, trace, workload
from server_inputs import platform_xml

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import HDeepRMError, PlatformError
from hdeeprm_like.formats.platform_json import read_platform
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml
from hdeeprm_like.formats.swf import read_swf
from hdeeprm_like.formats.workload_json import read_workload
from hdeeprm_like.importers.column_maps import read_map
from hdeeprm_like.importers.jobcomp import read_jobcomp
from hdeeprm_like.importers.sacct import Reading, read_sacct
from hdeeprm_like.importers.scontrol import read_scontrol
from hdeeprm_like.importers.slurm_conf import read_slurm_conf
from hdeeprm_like.importers.table import read_table

GOLDEN = ROOT / "tests" / "golden"
CLUSTER = (
    '<cluster id="c" prefix="h" suffix="" radical="0-3" speed="1Gf,1Gf" core="2" pstate="0" bw="1Gbps" lat="0us">'
    '<prop id="sleep_pstates" value="1:0:0"/></cluster>'
)
HEADER = "; MaxProcs: 4\n; UnixStartTime: 0\n; Queue: 1 batch\n"


def account(path):
    return Account(str(path), form="log")


def of_table(path, name):
    return read_table(path, read_map(name), account(path))


def sleeping(path):
    return [host.sleep_pstates() for host in read_simgrid_xml(path).hosts.values()]


FILES = {  # by a name for the file: its text, and its reader
    "a.swf": (HEADER + trace(2), read_swf),
    "w.json": (json.dumps(workload(2)), partial(read_workload, reference_flops=1e9)),
    "p.json": (json.dumps(machine()), read_platform),
    "p.xml": (platform_xml(1).replace('<zone id="c"', f'{CLUSTER}<zone id="d"'), sleeping),
    "lsb.acct": ((GOLDEN / "logs" / "lsb.acct").read_text().partition("\n")[0], partial(of_table, name="lsf")),
    "pbs.txt": ((GOLDEN / "logs" / "pbs.txt").read_text(), partial(of_table, name="pbs")),
    **{
        name: ("\n".join((GOLDEN / "slurm" / name).read_text().split("\n")[:lines]) + "\n", read)
        for name, lines, read in (
            ("sacct.txt", 4, lambda path: read_sacct(path, Reading(), account(path))),
            ("jobcomp.txt", 2, lambda path: read_jobcomp(path, Reading(), account(path))),
            ("slurm.conf", 100, lambda path: read_slurm_conf(path, account(path))),
            ("nodes.txt", 25, lambda path: read_scontrol([path], account(path))),
            ("partitions.txt", 25, lambda path: read_scontrol([path], account(path))),
        )
    },
}


@pytest.mark.parametrize("name", FILES)
def test_a_number_of_a_file_may_be_odd_or_long(name, tmp_path):
    text, read = FILES[name]
    path = tmp_path / name
    for place in re.finditer(r"\d+", text):
        for odd in ("²", "9" * 5000):
            path.write_text(text[: place.start()] + odd + text[place.end() :], encoding="utf-8")
            with contextlib.suppress(HDeepRMError):
                read(path)


def test_each_part_of_a_radical_has_two_numbers_at_most(tmp_path):
    path = tmp_path / "p.xml"
    for radical in ("0-", "-3", "0-3-5", "", "²", "0-²"):
        path.write_text(platform_xml(1).replace('<zone id="c"', CLUSTER.replace("0-3", radical) + '<zone id="d"'))
        with pytest.raises(PlatformError, match="radical"):
            read_simgrid_xml(path)
