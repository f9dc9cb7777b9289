"""Worlds whose schedule one can work out on paper: a machine, some jobs, and when these start under each policy."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from small import platform, step_baseline

from hdeeprm_like.cluster.partitions import Demand, demands_of
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload


def node(cores, memory=1000.0, processors=1):
    """A node of so many cores of 1 GFLOP/s on equal processors, with MB of memory."""
    return memory, [(cores // processors, 1.0, 100.0, 1e6)] * processors


def cores(count, memory=1000.0):
    """A machine of one node with one processor of so many cores."""
    return platform(node(count, memory))


def of_users(workload, users):
    """The same jobs, of these users."""
    return replace(workload, user=np.broadcast_to(np.array(users), len(workload)))


def in_all(workload):
    """The same jobs, each of which requests the partition ``all``."""
    return replace(workload, demands=demands_of([Demand("all")] * len(workload)))


def starts(machine, workload, name, clock="textbook", **state):
    """When each job starts under a policy; all of them end."""
    simulator = step_baseline(machine, workload, name, clock, **state)
    assert simulator.unfinished == 0
    return simulator.simulation.tasks["start"].tolist()


def cores_of(machine, workload, name, **state):
    """The cores of each job under a policy; all of them end."""
    simulator = step_baseline(machine, workload, name, **state)
    assert simulator.unfinished == 0
    return [simulator.state.cores_of(j).tolist() for j in range(len(workload))]


class OnPaper(NamedTuple):
    """A machine, jobs, and when these start, by the name of the policy; *how* are options of `starts`."""

    machine: Platform
    workload: Workload
    starts: dict
    how: dict = {}  # noqa: RUF012 - nobody writes to it

    def check(self):
        """Play each policy."""
        found = {name: starts(self.machine, self.workload, name, **self.how) for name in self.starts}
        assert found == self.starts
