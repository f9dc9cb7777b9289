"""Small inputs for tests of what commands refuse, and how a command is asked for its one line."""

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

from hdeeprm_like.cli.main import main

ROOT = Path(__file__).parents[1]
LONGEST = 300  # characters of a refusal


def machine(processors=2, power=100.0):
    """Return a platform of one node with two cores for each processor, and its types in one object."""
    return {
        "types": {
            "processors": {
                "small": {"cores": 2, "clock_rate": 1.0, "dpflops_per_cycle": 1, "mem_bw": 8.0, "power": power}
            },
            "nodes": {
                "one": {
                    "processors": [{"type": "small", "number": processors}],
                    "memory": {"type": "ddr", "capacity": 4},
                }
            },
            "networks": {"wire": {"bandwidth": "10.0Gbps"}},
            "memories": {"ddr": {"latency": "10ns"}},
        },
        "clusters": [
            {
                "id": "only",
                "nodes": [{"type": "one", "number": 1}],
                "local_links": {"type": "wire", "latency": "0us"},
            }
        ],
        "global_links": {"type": "wire", "latency": "0us"},
    }


def workload(jobs=6):
    """Return a workload of short jobs of one to three cores."""
    return {
        "nb_res": 4,
        "jobs": [
            {"id": number, "subtime": 3.0 * number, "res": 1 + number % 3, "profile": f"p{number % 2}"}
            for number in range(jobs)
        ],
        "profiles": {
            "p0": {"type": "delay", "delay": 7.0, "req_time": 9.0},
            "p1": {"type": "parallel_homogeneous", "cpu": 5e9, "com": 0, "req_time": 6.0, "mem": 100, "mem_bw": 1},
        },
    }


def trace(jobs=30, cores=4):
    """Return the text of a trace."""
    lines = [f"; MaxProcs: {cores}"]
    for number in range(jobs):
        size, run = 1 + number % cores, 10 + 7 * number % 50
        lines.append(
            f"{number + 1} {5 * number} 0 {run} {size} {run} 1000 {size} {run + 5} 2000 1 {number % 3} 1 1 1 1 -1 -1"
        )
    return "\n".join(lines) + "\n"


def options(**more):
    """Return an options file of a classic agent."""
    return {
        "seed": 1,
        "platform_file_path": "machine.json",
        "workload_file_path": "jobs.json",
        "policy": "sjf+easy",
        **more,
    }


def learning(**agent):
    """Return an options file of a learning agent."""
    more = {
        "pybatsim": {"agent": {"type": "LEARNING", "run": "train", "gamma": 0.99, "hidden": 8, "lr": 0.01, **agent}}
    }
    found = options(**more)
    del found["policy"]
    return found


def write_inputs(folder, **files):
    """Write the inputs into a folder, those that are given by name in place of the usual ones; return it."""
    contents = {"machine.json": machine(), "jobs.json": workload(), "options.json": options(), "trace.swf": trace()}
    contents |= {"learning.json": learning()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in {**contents, **files}.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name).write_text(text)
    return folder


def told(*arguments):
    """Run a command in this process; return its exit status and what it wrote to stderr."""
    error = io.StringIO()
    with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code
    return status, error.getvalue()


def printed(*arguments):
    """Run a command that does its work; return what it prints."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        assert main([str(argument) for argument in arguments]) == 0
    return shown.getvalue()


def refused(*arguments, longest=LONGEST):
    """Run a command that must be refused in one line of at most so many characters; return that line."""
    status, error = told(*arguments)
    lines = [line for line in error.splitlines() if line.startswith("hdeeprm-like: ")]
    assert status == 2, (status, error)
    assert error.count("\n") == len(error.splitlines()) <= 1 + len(lines), error
    assert len(lines[-1]) <= longest, lines
    return lines[-1]


def refused_launch(folder, *flags, agent=(), **files):
    """Launch what is in a folder, some of it given by name, which must be refused in one line; return that line."""
    folder = write_inputs(folder, **files)
    name = "learning.json" if agent else "options.json"
    line = refused("launch", "--options", folder / name, *agent, "--output", folder / "out", *flags)
    assert not (folder / "out").exists()
    return line


LEARNER = ("--agent", ROOT / "agents" / "reinforce.py")


def measured(*arguments, timeout=600, **more):
    """Run a command in a process of its own; return status, stderr, and the most MB of memory that it had."""
    code = (
        "import sys; from hdeeprm_like.cli.main import main\n"
        "try:\n    status = main(sys.argv[1:])\n"
        "finally:\n    status_of = open('/proc/self/status').read()\n"  # getrusage tells the memory of who began it too
        "    sys.stderr.write('\\n' + str(int(status_of.partition('VmHWM:')[2].split()[0]) // 1000))\n"
        "sys.exit(status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True, text=True, timeout=timeout, check=False, cwd=more.pop("cwd", ROOT), **more,
    )  # fmt: skip
    error, _, memory = done.stderr.rpartition("\n")
    return done.returncode, error, int(memory)
