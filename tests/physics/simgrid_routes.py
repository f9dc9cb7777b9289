"""Prints the routes between all hosts of a platform as SimGrid knows them; started with the system's Python."""

import json
import sys

from simgrid import Engine

engine = Engine(["simgrid_routes", "--cfg=host/model:ptask_L07", "--log=root.thresh:critical"])
engine.load_platform(sys.argv[1])
engine.netzone_root.seal()
hosts = sorted(engine.all_hosts, key=lambda host: host.name)
routes = []
for source in hosts:
    for destination in hosts:
        links, latency = source.route_to(destination)
        routes.append([source.name, destination.name, [link.name for link in links], latency])
sys.stdout.write(json.dumps(routes) + "\n")
