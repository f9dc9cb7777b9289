"""SimGrid's numbers with units, as hosts and links of all platforms have them."""

import pytest

from hdeeprm_like.cluster.units import SPEEDS, bytes_per_second, measure, seconds
from hdeeprm_like.errors import PlatformError


def flops(text):
    return measure(text, SPEEDS, "speed")


@pytest.mark.parametrize(
    ("read", "values"),
    [
        (
            seconds,
            {
                **{"75us": 75e-6, "0us": 0.0, "1.5ms": 1.5e-3, "2": 2.0, "3m": 180.0, "1e-3s": 1e-3, " 4 ns ": 4e-9},
                **{"2ns": 2e-9},
            },
        ),
        (
            bytes_per_second,
            {
                **{"10Gbps": 1.25e9, "40.0Gbps": 5e9, "125MBps": 1.25e8, "8bps": 1.0, "1KiBps": 1024.0, "1e9": 1e9},
                **{"2kbps": 250.0, "1.25GBps": 1.25e9},
            },
        ),
        (
            flops,
            {"1f": 1.0, "2.5kf": 2500.0, "1.5Gf": 1.5e9, "1e-9Mf": 1e-3, "3": 3.0, "1Mif": 2.0**20, "1Tflops": 1e12},
        ),
    ],
)
def test_numbers_have_units(read, values):
    assert {text: read(text) for text in values} == pytest.approx(values)


@pytest.mark.parametrize(
    ("read", "texts"),
    [
        (seconds, ["", "us", "-1us", "1.2.3us", "nan", "inf", "1 2us", "10Gbps", "٣us", "1e400us"]),
        (
            bytes_per_second,
            ["", "Gbps", "-1Gbps", "10us", "10Xbps", "10GBPS", "nanbps", "1..0Gbps", "1e400Gbps", "0bps"],
        ),
        (flops, ["fast", "1Gx", "-1Gf", "nan", "1e400f"]),
    ],
)
def test_what_is_no_such_number_is_refused(read, texts):
    for text in texts:
        with pytest.raises(PlatformError, match=r"needed|unknown unit"):
            read(text)
