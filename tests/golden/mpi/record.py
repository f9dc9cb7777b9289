"""Records when the ranks of MPI traces end in SimGrid 3.32 itself, as ``cases.json`` beside this file.

``python tests/golden/mpi/record.py PEER`` with the program made of ``peer.cpp``.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TYPES = {0: 8, 1: 4, 2: 1, 6: 1, 26: 16}
GROUPS = [
    (2, ["n0", "n1"]),
    (3, ["slow", "quick", "far"]),
    (4, ["n0", "n1"]),
    (4, ["n2"]),
    (5, ["n0", "n1", "n10", "n11", "n12"]),
    (8, ["n0", "n1", "n2", "slow"]),
    (17, ["n0", "n1", "n2"]),
]


def collectives(ranks):
    """Return each collective in some forms."""
    grown = " ".join(str(1000 * (rank + 1)) for rank in range(ranks))
    even = " ".join(["1000"] * ranks)
    last = ranks - 1
    return [
        "barrier",
        "bcast 1000 0",
        f"bcast 1e6 {last} 0",
        "reduce 1e5 1e8",
        f"reduce 1e5 1e7 {last} 1",
        "allreduce 1e5 1e8",
        "allreduce 1e6 0 0",
        "alltoall 10 10",
        "alltoall 500 500",
        "alltoall 10000 10000 26 26",
        "alltoall 40000 50000 26 26",
        f"gather 1e5 1e5 {last} 0 0",
        f"scatter 1e5 1e5 {last} 0 0",
        "allgather 1e5 1e5 0 0",
        f"gatherv 1000 {grown} {last} 0 0",
        f"allgatherv 1000 {grown}",
        f"allgatherv 1000 {even} 0 0",
        f"scatterv {grown} 17000 {last}",
        f"alltoallv 1000 {even} 1000 {even} 1 1",
        f"reducescatter {even} 1e6 0",
    ]


def random_traces(dice, ranks):
    """Return traces of messages that fit together, with collectives between them."""
    traces = [["init"] for _ in range(ranks)]
    begun = [[] for _ in range(ranks)]
    for tag in range(dice.randint(4, 14)):
        kind, type_ = dice.random(), dice.choice(list(TYPES))
        count = int(10 ** dice.uniform(0, 6.5)) if dice.random() < 0.9 else (2**31 - 1) // TYPES[type_]
        rank = dice.randrange(ranks)
        if kind < 0.15:
            traces[rank].append(f"compute {10 ** dice.uniform(6, 9):g}")
        elif kind < 0.5:
            a, b = dice.sample(range(ranks), 2)
            for me, other, verb in ((a, b, "send"), (b, a, "recv")):
                later = dice.random() < 0.5
                traces[me].append(f"{'i' * later}{verb} {other} {tag} {count} {type_}")
                if later:
                    begun[me].append(f"{a} {b} {tag}")
        elif kind < 0.65 and begun[rank]:
            traces[rank].append(f"wait {begun[rank].pop(0)}")
        elif kind < 0.7:
            traces[rank].append("waitall")
            begun[rank].clear()
        else:
            together = dice.choice(["barrier", f"bcast {count} {rank} {type_}", f"allreduce {count} 1e7 {type_}"])
            for trace in traces:
                trace.append(together)
    return traces


def cases():
    for ranks, hosts in GROUPS:
        for line in collectives(ranks):
            yield hosts, [["init", f"compute {(rank + 1) * 1e7:g}", line, "finalize"] for rank in range(ranks)]
    dice = random.Random(5)
    for _ in range(60):
        ranks, hosts = dice.choice(GROUPS)
        yield hosts, random_traces(dice, ranks)


def record(peer, hosts, traces):
    with tempfile.TemporaryDirectory() as folder:
        names = [f"rank{rank}.txt" for rank in range(len(traces))]
        for rank, trace in enumerate(traces):
            Path(folder, names[rank]).write_text("".join(f"{rank} {line}\n" for line in trace))
        index = Path(folder, "traces.txt")
        index.write_text("".join(f"{name}\n" for name in names))
        command = [peer, HERE / "platform.xml", index, ",".join(hosts), "--cfg=host/model:ptask_L07"]
        done = subprocess.run([*command, "--log=root.thresh:critical"], capture_output=True, text=True, check=False)
    ends = dict(line.split() for line in done.stdout.splitlines())
    return [float(ends[str(rank)]) for rank in range(len(traces))] if len(ends) == len(traces) else None


def main():
    recorded = []
    for hosts, traces in cases():
        recorded.append({"hosts": hosts, "traces": traces, "ends": record(sys.argv[1], hosts, traces)})
    lines = ",\n".join(json.dumps(case) for case in recorded)
    (HERE / "cases.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
