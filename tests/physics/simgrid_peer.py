"""Runs a scenario in SimGrid itself; started with the system's Python, which has the module, by the test beside it."""

import json
import sys
from pathlib import Path

from simgrid import Actor, Engine, Host, this_actor


def run_task(index, task, ends):
    this_actor.sleep_until(task["start"])
    hosts = [Host.by_name(name) for name in task["hosts"]]
    this_actor.parallel_execute(hosts, task["flops"], task["bytes"])
    ends[index] = Engine.clock


def change_pstates(changes):
    for time, name, pstate in changes:
        this_actor.sleep_until(time)
        Host.by_name(name).pstate = pstate


def main():
    scenario = json.loads(Path(sys.argv[1]).read_text())
    energy = ["--cfg=plugin:host_energy", "--log=host_energy.thresh:info"] if scenario.get("energy") else []
    engine = Engine(["simgrid_peer", "--cfg=host/model:ptask_L07", "--log=root.thresh:critical", *energy])
    engine.load_platform(scenario["platform"])
    ends = [-1.0] * len(scenario["tasks"])
    master = Host.by_name("master_host")
    Actor.create("changes", master, change_pstates, scenario["changes"])
    for index, task in enumerate(scenario["tasks"]):
        Actor.create(f"task {index}", master, run_task, index, task, ends)
    engine.run()
    sys.stdout.write(json.dumps(ends) + "\n")


main()
