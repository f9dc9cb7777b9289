"""Workloads and schedulers of Batsim 5 for the tests of its server, as PyBatsim 4 writes their messages."""

import json
import struct

from server_inputs import Greedy, platform_xml, workload

from hdeeprm_like.batsim_server.batsim5 import cli

TYPES = {"delay": "DelayProfile", "parallel_homogeneous": "ParallelTaskHomogeneousProfile"}
FEATURES = (
    "dynamic_registration",
    "profile_reuse",
    "acknowledge_dynamic_jobs",
    "forward_profiles_on_job_submission",
    "forward_profiles_on_jobs_killed",
    "forward_profiles_on_simulation_begins",
)


def profiles5(profiles):
    """Batsim 4's profiles under Batsim 5's names for their types."""
    return {
        name: {**profile, "type": TYPES.get(profile["type"], profile["type"])} for name, profile in profiles.items()
    }


def options5(folder, jobs, profiles, *more, xml=None):
    """Write a platform of 4 hosts (or *xml*) and a workload; return options that use them."""
    (folder / "p.xml").write_text(xml or platform_xml(4))
    (folder / "w.json").write_text(json.dumps(workload(jobs, profiles5(profiles))))
    files = ["-p", str(folder / "p.xml"), "-w", str(folder / "w.json"), "-e", f"{folder}/out/"]
    return cli.read_command_line([*files, "-s", "tcp://127.0.0.1:1", "", *more])[0]


def hello(*wishes, flags=2):
    """The first message of a scheduler that wants some features."""
    event = {
        "batprotocol_version": "1.0.0",
        "requested_simulation_features": {feature: feature in wishes for feature in FEATURES},
        "decision_component_name": "test",
        "decision_component_version": "0",
        "decision_component_commit": "",
    }
    return struct.pack("=I", flags) + reply(0.0, ("EDCHelloEvent", event))


def reply(now, *events):
    """A reply; events are (type, content) at the time of the reply."""
    listed = [{"timestamp": now, "event_type": kind, "event": content} for kind, content in events]
    return json.dumps({"now": now, "events": listed}).encode()


def execute(job, hosts, placement=("PredefinedExecutorPlacementStrategyWrapper", {"strategy": "SpreadOverHostsFirst"})):
    """Start a job on hosts."""
    kind, how = placement
    allocation = {"executor_placement_type": kind, "executor_placement": how, "host_allocation": hosts}
    return "ExecuteJobEvent", {"job_id": job, "allocation": allocation}


def call_at(name, time, unit="Second"):
    """A call at one time."""
    return "CallMeLaterEvent", {
        "call_me_later_id": name,
        "when_type": "OneShot",
        "when": {"time": time, "time_unit": unit},
    }


def call_every(name, period, times=None, offset=0):
    """Calls at the multiples of a period in s."""
    mode = ("Infinite", {}) if times is None else ("FinitePeriodNumber", {"nb_periods": times})
    when = {"period": period, "offset": offset, "time_unit": "Second", "mode_type": mode[0], "mode": mode[1]}
    return "CallMeLaterEvent", {"call_me_later_id": name, "when_type": "Periodic", "when": when}


def create_probe(name, hosts, every=None, times=None, at=None, function="NoResourcesAggregation", accumulates=True):
    """A probe of the power of hosts at the multiples of a period in s, or *at* a time."""
    when = {"time": at, "time_unit": "Second"} if at is not None else call_every(name, every, times)[1]["when"]
    trigger = {"temporal_trigger_type": "Periodic" if at is None else "OneShot", "temporal_trigger": when}
    strategy = {"reset_mode_type": "NoReset", "reset_mode": {}, "cumulative_function": "Sum"} if accumulates else {}
    return "CreateProbeEvent", {
        "probe_id": name,
        "metrics": "Power",
        "resources_type": "HostResources",
        "resources": {"host_ids": hosts},
        "data_accumulation_strategy_type": "ProbeDataAccumulation" if accumulates else "NoProbeDataAccumulation",
        "data_accumulation_strategy": strategy,
        "measurement_triggering_policy_type": "TemporalTriggerWrapper",
        "measurement_triggering_policy": trigger,
        "resources_aggregation_function_type": function,
        "resources_aggregation_function": {},
        "temporal_aggregation_function_type": "NoTemporalAggregation",
        "temporal_aggregation_function": {},
        "emission_filtering_policy_type": "NoFiltering",
        "emission_filtering_policy": {},
    }


class Scheduler(Greedy):
    """Starts every job that fits, oldest first, and remembers all that it hears.

    What it decides besides is given by rules: (type of event, what to decide then); each rule holds once.
    """

    def __init__(self, *rules, wishes=(), start=True):
        super().__init__()
        self.rules, self.wishes, self.start = list(rules), wishes, start

    def ask(self, raw):
        if not self.heard and raw[:1] != b"{":
            return hello(*self.wishes)
        assert raw[-1:] == b"\0"
        message = json.loads(raw[:-1])
        decisions = []
        for event in message["events"]:
            kind, content = event["event_type"], event["event"]
            self.heard.append((event["timestamp"], kind, content))
            decisions += self.decided(kind)
            if kind == "SimulationBeginsEvent":
                self.free = set(range(content["computation_host_number"]))
            elif kind == "JobSubmittedEvent":
                self.queue.append((content["job_id"], content["job"]["resource_request"]))
            elif kind == "JobCompletedEvent":
                self.free |= self.taken.pop(content["job_id"], set())
        return reply(message["now"], *decisions, *(self.started() if self.start else ()))

    def decided(self, kind):
        for index, (wanted, decisions) in enumerate(self.rules):
            if wanted == kind:
                del self.rules[index]
                return decisions
        return []

    def started(self):
        return [execute(*start) for start in self.starts()]
