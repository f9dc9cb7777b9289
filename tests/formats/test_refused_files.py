"""What no reader of files can use is refused in one line that names the file, and says what is wrong there."""

import gzip
from functools import partial

import pytest

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import HDeepRMError
from hdeeprm_like.formats.jobs_csv import read_jobs_csv
from hdeeprm_like.formats.machines_csv import read_machines_csv
from hdeeprm_like.formats.platform_hosts import read_platform_xml
from hdeeprm_like.formats.platform_json import read_platform
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml
from hdeeprm_like.formats.swf import FIELDS, read_swf
from hdeeprm_like.formats.workload_json import read_workload
from hdeeprm_like.importers.column_maps import read_map
from hdeeprm_like.importers.jobcomp import read_jobcomp
from hdeeprm_like.importers.sacct import Reading, read_sacct
from hdeeprm_like.importers.scontrol import read_scontrol
from hdeeprm_like.importers.slurm_conf import read_slurm_conf
from hdeeprm_like.importers.table import read_table

LINE = "7 100 2 50 4 30.5 2500 4 60 -1 1 3 1 -1 1 -1 -1 -1"
CORES = "a whole number of cores from 1 to 2,147,483,647 is needed"
MASTER = '<host id="master_host" speed="1Gf"/>'
HOST = '<host id="h" speed="1Gf"/>'
PAIR = '<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>'
ROUTE = '<route src="{}" dst="{}" symmetrical="{}"/>'
MACHINES = "MachineName,TotalMemory,TotalCPUs,TotalGPUs\nfat,64000,8,2\nthin,1500.5,4,0\n"
JOBS = """JobName,RequestedMemory,RequestedCPUs,RequestedGPUs,RequestedDuration,ActualDuration,SubmitTime
late,100,1,1,20,10,5
b,800,4,2,60,30,0
a,0,1,0,10,10,0
"""


def line(**values):
    known = {"job": 1, "submit": 0, "run": 50, "memory": 2500, "requested_processors": 4, "requested_time": 60}
    return " ".join(f"{(known | values).get(name, -1)}" for name in FIELDS)


def zone(inside, head=""):
    whole = f'<platform version="4.1"><zone id="main" routing="Full">{inside}</zone></platform>'
    return f'<?xml version="1.0"?>{head}{whole}'


def account(path):
    return Account(str(path), form="log")


READERS = {
    "swf": read_swf,
    "swf.gz": read_swf,
    "workload.json": partial(read_workload, reference_flops=1e9),
    "platform.json": read_platform,
    "platform.xml": read_platform_xml,
    "simgrid.xml": read_simgrid_xml,
    "jobs.csv": partial(read_jobs_csv, reference_flops=1e9),
    "machines.csv": read_machines_csv,
    "sacct": lambda path: read_sacct(path, Reading(), account(path)),
    "jobcomp": lambda path: read_jobcomp(path, Reading(), account(path)),
    "slurm.conf": lambda path: read_slurm_conf(path, account(path)),
    "scontrol": lambda path: read_scontrol([path], account(path)),
    **{
        name: lambda path, name=name: read_table(path, read_map(name), account(path))
        for name in ("pbs", "lsf", "kueue")
    },
}
REFUSED = {  # by the reader: contents of a file, and what is said
    "swf": [
        ("", "holds no job; a trace has one line of 18 numbers for each"),
        ("; only\n;notes\n", "holds no job; a trace has one line of 18 numbers for each"),
        ("; a\n\n1 2 3\n", ":3: has 3 fields; a job has 18 (-1 where unknown)"),
        (f"{LINE}\n{LINE[:-3]}\n", ":2: has 17 fields; a job has 18 (-1 where unknown)"),
        (f"{LINE} 1 2 3 4\n{LINE[:-3]}\n", ":2: has 17 fields; a job has 18 (-1 where unknown)"),
        (f"{LINE}\r\n{LINE[:-3]} x\r\n", ":2: field 18 (think time) is 'x'; a number is needed, -1 where unknown"),
        (line(run="nan"), ":1: field 4 (run) is 'nan'; a number is needed, -1 where unknown"),
        (line(requested_time="inf"), ":1: field 9 (requested time) is 'inf'; a number is needed, -1 where unknown"),
        (line(submit="1_000"), ":1: field 2 (submit) is '1_000'; a number is needed, -1 where unknown"),
        (line(submit='"1"'), ":1: field 2 (submit) is '\"1\"'; a number is needed, -1 where unknown"),
        (line(submit="True"), ":1: field 2 (submit) is 'True'; a number is needed, -1 where unknown"),
        (line(submit="1\0"), ":1: field 2 (submit) is '1\\x00'; a number is needed, -1 where unknown"),
        (line(submit="1e400"), ":1: field 2 (submit) is 1e400; numbers below 2^53 are possible"),
        (line(user=10**20), f":1: field 12 (user) is {10**20}; numbers below 2^53 are possible"),
        (line(submit="-1e400"), ":1: field 2 (submit) is -1e400; numbers below 2^53 are possible"),
        (line(submit=2**53), f":1: field 2 (submit) is {2**53}; numbers below 2^53 are possible"),
        (line(submit=-(2**53)), f":1: field 2 (submit) is {-(2**53)}; numbers below 2^53 are possible"),
        (line(user=-(2**53)), f":1: field 12 (user) is {-(2**53)}; numbers below 2^53 are possible"),
        (gzip.compress(f"{LINE}\n".encode() * 1000)[:-20], ": cannot be read: "),
        (line(requested_processors=2.5), ":1: field 8 (requested processors) is 2.5; a whole number is needed"),
    ],
    "swf.gz": [(LINE, ": cannot be read: Not a gzipped file")],
    "workload.json": [
        ("[]", ": is a list; an object is needed"),
        ("{}", ": has no 'nb_res'"),
        ('{"nb_res": -1, "jobs": [], "profiles": {}}', f": nb_res: is -1; {CORES}"),
        ('{"nb_res": 1, "jobs": [], "profiles": []}', ": profiles: is a list; an object is needed"),
        ('{"nb_res": 1, "jobs": {}, "profiles": {}}', ": jobs: is an object; a list is needed"),
        ('{"nb_res": 1, "jobs": [], "profiles": {}}', ": jobs: is empty; at least one job is needed"),
        ('{"nb_res": 1, "jobs": [[]], "profiles": {}}', ": jobs[0]: is a list; an object is needed"),
        ('{"nb_res": NaN}', ": NaN is not a number that JSON knows"),
        ('{"nb_res": 1', ":1:13: not valid JSON: Expecting ',' delimite"),
    ],
    "platform.json": [
        ("[]", "is a list; an object {...} is needed"),
        ("{", ":1:2: not valid JSON"),
        ('{"clusters": NaN}', "NaN is not a number"),
        ("null", "is null"),
        (
            '{"clusters": [], "global_links": {}, "types": {"processors": {"P": {"cores": 1, "clock_rate": 1, '
            '"dpflops_per_cycle": 1, "mem_bw": 1, "power": 1e999}}}}',
            "P.power: is inf; a number above 0 and up to 1e+12 is needed",
        ),
    ],
    "platform.xml": [
        ("<platform>", "not valid XML"),
        ("", "not valid XML"),
        ("<html/>", "the root is <html>, not <platform>"),
        ("<platform/>", "has no host"),
        ('<!DOCTYPE p [<!ENTITY a "b">]><platform>&a;</platform>', "entities are refused in XML"),
        *(
            (zone(inside), said)
            for inside, said in (
                (MASTER, "no host but the master 'master_host' computes"),
                ("", "has no host"),
                ('<host id="h" speed="0f"/>', "host 'h': its speed is 0 flop/s; one above 0 is needed"),
                ('<host id="h" speed="fast"/>', "host 'h': speed: 'fast' has an unknown unit"),
                ('<host id="h" speed="1Gf" core="2000000"/>', "core '2000000' is not a number of cores from 1 to"),
                (
                    '<host id="h" speed="1Gf,2Gf" pstate="1"><prop id="wattage_per_state" value="1:2"/></host>',
                    "host 'h': wattage_per_state has 1 entries, none for P-state 1",
                ),
                (
                    '<host id="h" speed="1Gf"><prop id="hdeeprm_memory" value="much"/></host>',
                    "host 'h': hdeeprm_memory: is 'much'; a number of MB above 0",
                ),
            )
        ),
    ],
    "simgrid.xml": [
        *(
            (zone(HOST, head), "entities are refused")
            for head in (
                '<!DOCTYPE platform [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>',
                '<!DOCTYPE platform [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
            )
        ),
        *((content, "") for content in [b"", b"<platform", b"{}", b"\xff\xfe", b"<x/>", b"<platform/>"]),
        *(
            (zone(inside), said)
            for inside, said in (
                ("", "no host"),
                ('<host id="h"/>', "no speed"),
                ('<host id="h" speed="fast"/>', "unknown unit"),
                ('<host id="h" speed="1Gx"/>', "unknown unit"),
                ('<host id="h" speed="-1Gf"/>', "a number from 0"),
                ('<host id="h" speed="nan"/>', "unknown unit"),
                ('<host id="h" speed="1Gf" core="0"/>', "number of cores"),
                ('<host id="h" speed="1Gf" pstate="3"/>', "P-states"),
                (
                    '<host id="h" speed="1Gf" state_file="x"/>',
                    "state_file is refused: jobs on a host that fails never end",
                ),
                ('<host id="h" speed="1Gf"><mount id="d"/></host>', "mount"),
                (PAIR + '<bypassRoute src="a" dst="b"/>', "has no link"),
                ('<host id="h" speed="1Gf" coordinates="0 0"/>', "three numbers"),
                (HOST + HOST, "twice"),
                ('<hosts id="h"/>', "did you mean 'host'"),
                ('<zone id="z" routing="Sta"/>', "Sta"),
                ('<peer id="p" speed="1Gf" bw_in="1" bw_out="1" coordinates="0 0 0"/>', "Vivaldi"),
                (
                    '<zone id="v" routing="Vivaldi"><peer id="p" speed="2Gf,1Gf" bw_in="1" bw_out="1" '
                    'coordinates="0 0 0"/></zone>',
                    "one speed",
                ),
                ('<zone id="main" routing="Full"/>', "twice"),
                ('<link id="l" bandwidth="0"/>', "more than 0"),
                ('<link id="l" bandwidth="1Gbps" sharing_policy="WIFI"/>', "WIFI"),
                (PAIR + '<route src="a" dst="c"><link_ctn id="l"/></route>', "'c'"),
                (PAIR + '<route src="a" dst="b"><link_ctn id="l"/></route>', "'l'"),
                (
                    PAIR + ROUTE.format("a", "b", "YES") + ROUTE.format("b", "a", "YES"),
                    "a second route from 'b' to 'a'",
                ),
                (PAIR + ROUTE.format("a", "b", "NO") * 2, "a second route from 'a' to 'b'"),
                ('<cluster id="c" radical="0-x" speed="1Gf" bw="1"/>', "radical"),
                ('<cluster id="c" radical="0-9" speed="1Gf" bw="1" topology="TORUS"/>', "no topo_parameters"),
            )
        ),
    ],
    "jobs.csv": [
        (JOBS.replace(old, new, 1), said)
        for old, new, said in (
            ("RequestedGPUs", "RequestedGPU", ":1: column 'RequestedGPUs' is missing; did you mean 'RequestedGPU'?"),
            ("RequestedGPUs", "JobName", ":1: column 'JobName' is there twice"),
            ("b,800,4,2,60,30,0", "b,800,4,2,60,30", ":3: has 6 values; the line of names has 7"),
            ("b,800,4", "b,800,4.5", ":3: RequestedCPUs: is '4.5'; a whole number from 1 to 2,147,483,647 is needed"),
            ("b,800,4", "b,800,0", ":3: RequestedCPUs: is '0'; a whole number from 1 to 2,147,483,647 is needed"),
            ("b,800,4", "b,much,4", ":3: RequestedMemory: is 'much'; a number from 0 to 1e+12 is needed"),
            ("b,800,4,2", "b,800,4,-2", ":3: RequestedGPUs: is '-2'; a number from 0 to 1e+12 is needed"),
            ("10,10,0", "10,inf,0", ":4: ActualDuration: is 'inf'; a number from 0 to 1e+12 is needed"),
            ("b,800", "late,800", ":3: JobName: 'late' is there already, at "),
            ("b,800", "b!,800", ":3: JobName: is 'b!'; a name without '!' is needed"),
            ("b,800", " ,800", ":3: JobName: is ''; a name is needed"),
            (JOBS[JOBS.index("late") :], "", ": has no rows; a line of names (JobName,RequestedMemory,"),
        )
    ],
    "machines.csv": [
        (MACHINES.replace(old, new, 1), said)
        for old, new, said in (
            ("thin,1500.5", "thin,0", ":3: TotalMemory: is '0'; a number of MB above 0 and up to 1e+12 is needed"),
            ("fat,64000,8", "fat,64000,1000001", ": TotalCPUs: 1,000,005 cores in all; at most 1,000,000 are allowed"),
            (MACHINES, "", ": has no rows; a line of names (MachineName,TotalMemory,TotalCPUs,TotalGPUs)"),
        )
    ],
    "sacct": [
        (b"", "is empty"),
        (b"\x7fELF\x02\x01\x01\0\0\0\0", "is no text"),
        (b"JobID|State\n", "column Submit is missing"),
        (b"JobID,Submit,Start,End,NCPUS\n1,2,3,4,5\n", "columns are separated by ',', not by '|'"),
        (b"JobID\tSubmit\tStart\tEnd\tNCPUS\n1\t2\t3\t4\t5\n", r"columns are separated by '\t', not by '|'"),
        (b"       JobID      Submit\n------------ -----------\n", "sacct -P prints the one for programs"),
        (b"1|a|2024-01-10T10:00:00|COMPLETED\n", "has no line of the names of its columns"),
        (b"hello\nworld\n", "is no log of sacct -P"),
        (b'{"jobs": []}', "is JSON"),
        (b"JobID|Submit|Start|End|NCPUS\n", "holds no job that ran: there is no line behind"),
        (b"JobID|Submit|Start|End|NCPUS|State\n1|yesterday|noon|dusk|4|COMPLETED\n", "'yesterday' is no time"),
        (
            b"JobID|Submit|Start|End|NCPUS|State\n1|Unknown|None|Unknown|4|PENDING\n",
            "holds no job that ran: 1 still waiting",
        ),
        (b"\x1f\x8b\x08\0broken", "cannot be read"),
    ],
    "jobcomp": [
        *((text, "is no log of jobcomp/filetxt") for text in ("", "\n\n", "hello\n", "JobID|Submit\n1|2\n")),
        ("\0" * 1000, "is no text"),
    ],
    "slurm.conf": [
        ("", "is no slurm.conf"),
        ("hello world\n", "is no slurm.conf"),
        ("NodeName=n[1- CPUs=4\n", "is no list of hosts"),
        ("NodeName=n1 CPUs=four\n", "cpus: is 'four'; a whole number from 0 to 2,147,483,647 is needed"),
        ("NodeName=n1\nPartitionName=p Nodes=n1 MaxTime=long\n", "MaxTime: is 'long'; a time as 1-12:00:00 is needed"),
    ],
    "scontrol": [(text, "") for text in ["", "JobId=1 JobName=x\n", "{}", "[1]", "{broken"]],
    "pbs": [("JobID|State\n1|COMPLETED\n", "holds no job that ended; DATE TIME;E;JOB")],
    "lsf": [("", 'holds no job that ended; "JOB_FINISH"'), ('"JOB_FINISH" "10.1" 5\n', "holds no job that ended")],
    "kueue": [
        ("{}", "has no list of items"),
        ("[" * 100_000, "is no JSON"),
        ('{"items": [1, null, {"metadata": 3}]}', "holds no job that ended"),
    ],
}


@pytest.mark.parametrize(
    ("reader", "content", "said"), [(key, *case) for key, cases in REFUSED.items() for case in cases]
)
def test_what_cannot_be_used_is_refused_in_one_line_that_names_the_file(tmp_path, reader, content, said):
    path = tmp_path / reader
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(HDeepRMError) as error:
        READERS[reader](path)
    message = str(error.value)
    assert message.startswith(f"{path}:")
    assert said in message
    assert "\n" not in message
