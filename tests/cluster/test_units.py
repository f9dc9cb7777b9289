"""SimGrid's units of links."""

import pytest

from hdeeprm_like.cluster.units import bytes_per_second, seconds
from hdeeprm_like.errors import PlatformError


@pytest.mark.parametrize(
    ("text", "value"),
    [("75us", 75e-6), ("0us", 0.0), ("1.5ms", 1.5e-3), ("2", 2.0), ("3m", 180.0), ("1e-3s", 1e-3), (" 4 ns ", 4e-9)],
)
def test_latencies_are_seconds(text, value):
    assert seconds(text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10Gbps", 1.25e9),
        ("40.0Gbps", 5e9),
        ("125MBps", 1.25e8),
        ("8bps", 1.0),
        ("1KiBps", 1024.0),
        ("1e9", 1e9),
        ("2kbps", 250.0),
    ],
)
def test_bandwidths_are_bytes_per_second(text, value):
    assert bytes_per_second(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "us", "-1us", "1.2.3us", "nan", "inf", "1 2us", "10Gbps", "٣us", "1e400us"])
def test_what_is_no_latency_is_refused(text):
    with pytest.raises(PlatformError, match=r"needed|unknown unit"):
        seconds(text)


@pytest.mark.parametrize(
    "text", ["", "Gbps", "-1Gbps", "10us", "10Xbps", "10GBPS", "nanbps", "1..0Gbps", "1e400Gbps", "0bps"]
)
def test_what_is_no_bandwidth_is_refused(text):
    with pytest.raises(PlatformError, match=r"needed|unknown unit"):
        bytes_per_second(text)
