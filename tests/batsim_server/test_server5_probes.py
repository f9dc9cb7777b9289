"""Probes of Batsim 5's server, in a cluster of four hosts that draw 30 W when idle and 100 W when they compute."""

import json

import pytest
from server5_inputs import Scheduler, call_every, create_probe, options5

from hdeeprm_like.batsim_server.batsim5 import cli
from hdeeprm_like.errors import ProtocolError

PROFILES = {"work4": {"type": "parallel_homogeneous", "cpu": 4e9, "com": 0}}
PROBED = "ProbeDataEmittedEvent"
BEGIN = "SimulationBeginsEvent"
DOCUMENTED = ("--imitate", "documented")


def emitted(folder, *decisions, more=(), energy=True, jobs=((0, 1, "work4", None),)):
    """What the probes send while one host computes for 4 s: seconds, values, and the other content."""
    scheduler = Scheduler((BEGIN, decisions))
    words = ["--energy-host"] * energy
    assert cli.play(options5(folder, list(jobs), PROFILES, *words, *more), scheduler.ask)
    return scheduler.heard_of(PROBED)


def values(found):
    return [(round(time, 3), data["data"]["data"]) for time, data in found]


def approximately(*expected):
    return [(time, pytest.approx(value, abs=1e-3)) for time, value in expected]


def test_a_probe_sends_the_joules_of_each_host_after_its_first_period(tmp_path):
    found = emitted(tmp_path, create_probe("p", "0-1", every=2, times=3))
    assert values(found) == approximately((4, [400, 120]), (6, [460, 180]), (8, [520, 240]))
    _, data = found[0]
    assert {key: value for key, value in data.items() if key != "data"} == {
        "probe_id": "p",
        "resources_type": "HostResources",
        "resources": {"host_ids": "0-1"},
        "metrics": "Power",
        "data_type": "VectorialProbeData",
        "manually_triggered": False,
        "nb_emitted": 0,
        "nb_triggered": 0,
    }


@pytest.mark.parametrize(("function", "value"), [("Sum", 400 + 3 * 120), ("ArithmeticMean", (400 + 3 * 120) / 4)])
def test_a_probe_sums_or_averages_over_hosts(function, value, tmp_path):
    found = emitted(tmp_path, create_probe("p", "0-3", every=2, times=1, function=function))
    assert values(found) == approximately((4, value))
    assert found[0][1]["data_type"] == "AggregatedProbeData"


def test_calls_come_before_probes_and_a_stopped_probe_sends_nothing_more(tmp_path):
    scheduler = Scheduler(
        (BEGIN, [create_probe("a", "0", every=1), call_every("a", 2, times=2), ("StopProbeEvent", {"probe_id": "b"})]),
        (PROBED, [("StopProbeEvent", {"probe_id": "a"})]),
    )
    assert cli.play(options5(tmp_path, [(0, 1, "work4", None)], PROFILES, "--energy-host"), scheduler.ask)
    heard = [(round(time, 3), kind) for time, kind, _ in scheduler.heard if kind in ("RequestedCallEvent", PROBED)]
    assert heard == [(2, "RequestedCallEvent"), (2, PROBED), (4, "RequestedCallEvent")]


STOPS = [("StopProbeEvent", {"probe_id": name}) for name in ("a", "unknown", "b", "a")]


def test_one_reply_may_stop_several_probes_and_one_that_is_not_there(tmp_path):
    scheduler = Scheduler(
        (BEGIN, [create_probe("a", "0", every=1, times=9), create_probe("b", "0", every=1, times=9)]),
        (PROBED, [*STOPS, create_probe("a", "0", every=2, times=1)]),
    )
    assert cli.play(options5(tmp_path, [(0, 1, "work4", None)], PROFILES, "--energy-host"), scheduler.ask)
    heard = [(round(time), data["probe_id"]) for time, data in scheduler.heard_of(PROBED)]
    assert heard == [(2, "a"), (2, "b"), (6, "a")]


@pytest.mark.parametrize("event", [*STOPS[:2], create_probe("c", "0", every=1, times=1)])
def test_a_decision_about_probes_at_the_moment_of_a_measurement_waits_for_it(event, tmp_path):
    scheduler = Scheduler((BEGIN, [create_probe("a", "0", every=1, times=2)]))

    def ask(raw):
        reply = json.loads(scheduler.ask(raw).rstrip(b"\0")) if b"JobSubmitted" in raw else None
        if reply is None:
            return scheduler.ask(raw)
        kind, content = event
        reply["events"].append({"timestamp": 3.0, "event_type": kind, "event": content})
        return json.dumps(reply | {"now": 3.0}).encode() + b"\0"

    assert cli.play(options5(tmp_path, [(0, 1, "work4", None)], PROFILES, "--energy-host"), ask)
    assert [(round(time), data["probe_id"]) for time, data in scheduler.heard_of(PROBED)][:2] == [(2, "a"), (3, "a")]


def test_as_documented_a_probe_measures_at_once_counts_and_may_measure_power(tmp_path):
    power = create_probe("p", "0-1", every=3, times=2, accumulates=False)
    found = emitted(tmp_path, power, create_probe("q", "0-1", at=1, function="Sum"), more=DOCUMENTED)
    assert values(found) == approximately((1, 130), (3, [100, 30]), (6, [30, 30]))
    assert [data["nb_emitted"] for _, data in found] == [1, 1, 2]


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"metrics": "NetworkLoad"}, "metrics is 'NetworkLoad'; Batsim 5 only has Power"),
        ({"resources_type": "LinkResources"}, "resources_type is 'LinkResources'"),
        ({"resources": {"host_ids": "9"}}, "below 4"),
        ({"emission_filtering_policy_type": "ThresholdFilteringFunction"}, "only has NoFiltering"),
        ({"data_accumulation_strategy_type": "NoProbeDataAccumulation"}, "only has ProbeDataAccumulation"),
        ({"data_accumulation_strategy": {"reset_mode_type": "ProbeAccumulationReset"}}, "only has NoReset"),
        ({"resources_aggregation_function_type": "QuantileFunction"}, "only has NoResourcesAggregation, Sum"),
    ],
)
def test_what_batsim_5_does_not_measure_is_one_line(change, hint, tmp_path):
    kind, content = create_probe("p", "0", every=2)
    with pytest.raises(ProtocolError, match=hint) as error:
        emitted(tmp_path, (kind, content | change))
    assert "\n" not in str(error.value)


EACH_SECOND = create_probe("p", "0", every=1)


@pytest.mark.parametrize(
    ("probes", "energy", "hint"),
    [
        ([create_probe("p", "0", at=1)], True, "OneShot; Batsim 5 only has Periodic"),  # as by the candidate
        ([EACH_SECOND], False, "with --energy-host only"),
        ([EACH_SECOND, EACH_SECOND], True, "the probe 'p' is running already"),
    ],
)
def test_probes_that_cannot_be_are_refused(probes, energy, hint, tmp_path):
    with pytest.raises(ProtocolError, match=hint):
        emitted(tmp_path, *probes, energy=energy)
