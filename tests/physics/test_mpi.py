"""MPI traces, replayed by our server and by SimGrid 3.32 itself (recorded by ``tests/golden/record.py mpi``)."""

import json
from pathlib import Path

import pytest

from hdeeprm_like.batsim_server.engine import Engine
from hdeeprm_like.batsim_server.machines import Machines, roles_of
from hdeeprm_like.batsim_server.mpi import Communicator, Rank
from hdeeprm_like.batsim_server.mpi_traces import read_trace, replay
from hdeeprm_like.batsim_server.network import Network
from hdeeprm_like.batsim_server.simgrid_options import SimgridOptions
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml
from hdeeprm_like.formats.simgrid_zones import loopback

GOLDEN = Path(__file__).parent.parent / "golden" / "mpi"
CASES = json.loads((GOLDEN / "cases.json").read_text())


def ends(hosts, traces, folder):
    """Return when each rank ends in our engine; None for one that never does."""
    platform, limits = read_simgrid_xml(GOLDEN / "platform.xml"), SimgridOptions()
    platform.routing.loopback = loopback(limits.loopback_bandwidth, limits.loopback_latency)
    machines = Machines(platform, roles_of(platform, {}), 0, False, str.encode)
    engine = Engine(Network(platform, machines).message_work)
    by_name = {machine.host.name: machine for machine in machines.all}
    places = [by_name[hosts[rank % len(hosts)]] for rank in range(len(traces))]
    communicator = Communicator(engine, [machine.host.name for machine in places])
    found = [None] * len(traces)

    def run(rank, machine, path):
        me = Rank(communicator, rank, machine.constraint, machine.number)
        yield from replay(me, read_trace(path, rank, len(traces)))
        found[rank] = engine.now

    for rank, (machine, trace) in enumerate(zip(places, traces, strict=True)):
        path = folder / f"rank{rank}.txt"
        path.write_text("".join(f"{rank} {line}\n" for line in trace))
        engine.begin(run(rank, machine, path), machine.host.name)
    engine.run()
    return found


def test_ranks_end_when_those_of_simgrid_end(tmp_path):
    compared = 0
    for case in CASES:
        if case["ends"] is None:  # SimGrid gives up
            with pytest.raises(WorkloadError, match=r"no power of 2|bytes from rank"):
                ends(case["hosts"], case["traces"], tmp_path)
            continue
        assert ends(case["hosts"], case["traces"], tmp_path) == pytest.approx(case["ends"], rel=1e-12, abs=1e-12), case
        compared += 1
    assert compared > 0.9 * len(CASES)
