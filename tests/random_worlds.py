"""Strategies of hypothesis for platforms and workloads; figures that floats hold exactly, so that ties are ties."""

import numpy as np
from hypothesis import strategies as st
from small import jobs, platform

from hdeeprm_like.cluster.platform import Network
from hdeeprm_like.decision.names import CORE_POLICIES, JOB_POLICIES

processors = st.tuples(
    st.integers(1, 4),
    st.sampled_from([1.0, 2.0, 3.7]),
    st.sampled_from([10.0, 80.5, 100.0]),
    st.sampled_from([5.0, 10.0, 24.0]),
)
nodes = st.tuples(st.sampled_from([100.0, 500.375, 1000.0]), st.lists(processors, min_size=1, max_size=3))
platforms = st.lists(st.tuples(nodes, st.sampled_from([0, 0, 1, 2, 4])), min_size=1, max_size=3).map(
    lambda drawn: platform(*(node for node, _ in drawn), gpus=[gpus for _, gpus in drawn])
)


def drawn_jobs(rng, count, seconds):
    """Jobs that compute or wait, with and without walltime, whose times are ``seconds(low, high)``."""
    return jobs(
        submit=seconds(0, 20),
        seconds=seconds(0, 15),
        estimate=seconds(1, 20),
        delay=np.where(rng.random(count) < 0.8, -1.0, seconds(1, 10)),
        walltime=np.where(rng.random(count) < 0.7, np.inf, seconds(1, 15)),
        size=rng.integers(1, 7, count),
        memory=rng.choice([0.0, 20.0, 100.0, 100.125, 400.0], count),
        bandwidth=rng.choice([0.0, 2.0, 5.5, 12.0], count),
        gpus=rng.choice([0, 0, 0, 1, 2, 3], count),
    )


@st.composite
def workloads(draw, ties=True, most=25):
    """Such jobs; *ties* at whole seconds, or no two times alike."""
    count = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))

    def seconds(low, high):
        return rng.integers(low, high, count).astype(float) if ties else rng.uniform(low + 0.01, high, count)

    return drawn_jobs(rng, count, seconds)


def world(seed, most=25):
    """A platform, jobs and a policy pair with nearly everything at whole seconds, or at multiples of other times.

    Returns the links of the network in half of the worlds too; figures of the same kind as above, but without
    hypothesis, which could not draw thousands of them in a few seconds.
    """
    rng = np.random.default_rng(seed)

    def one_of(*values):
        return values[rng.integers(len(values))]

    nodes = [
        (
            one_of(100.0, 500.375, 1000.0),
            [
                (int(rng.integers(1, 5)), one_of(1.0, 2.0, 3.7), one_of(10.0, 80.5, 100.0), one_of(5.0, 10.0, 24.0))
                for _ in range(rng.integers(1, 4))
            ],
        )
        for _ in range(rng.integers(1, 4))
    ]
    links = None
    if rng.random() < 0.5:
        bandwidths, latencies = ("10.0Gbps", "1.0Gbps", "3.3Gbps"), ("0us", "0.5ns", "15us", "50us", "3ms")
        links = Network((one_of(*bandwidths),), (one_of(*latencies),), one_of(*bandwidths), one_of(*latencies))
    unit = one_of(1.0, 1.0, 1.0, 0.1, 1 / 3, 10.0, 1e3, 1e5, 1e6)  # s
    count = int(rng.integers(1, most + 1))

    def seconds(low, high):
        return np.round(rng.integers(low, high, count) * unit, 6)  # Batsim reads more than 15 digits inexactly

    workload = drawn_jobs(rng, count, seconds)
    cluster = platform(*nodes, network=links, gpus=[one_of(0, 0, 1, 2, 4) for _ in nodes])
    return cluster, workload, (one_of(*sorted(JOB_POLICIES)), one_of(*sorted(CORE_POLICIES)))
