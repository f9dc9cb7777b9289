"""The C library's functions that the machine code calls round as they did where the recorded figures were made."""

import hashlib
import math
import platform
import random
from pathlib import Path

import pytest

PAIRS = 20_000
RECORDED_WITH = "2.36"  # glibc, on a processor with fused multiply-add
SAME_SINCE_2_28 = ("exp", "exp2", "log", "log2", "pow")
ROUNDED = {
    "exp": "399625586d394ba7",
    "exp2": "729fb3c313bc2927",
    "log": "bd7b872c87e98774",
    "log2": "a58ad614e2f83704",
    "log10": "f2c8b3b06353ae85",
    "log1p": "2ea610430cc8fd7c",
    "tanh": "494b76a11c2316e9",
    "pow": "d4cfc66d9299cbfd",
}


def arguments_of(name: str) -> list[tuple[float, ...]]:
    """Return seeded arguments in the range that a function is called with."""
    draw = random.Random(name)
    positive = [(math.ldexp(draw.random() + 0.5, draw.randint(-40, 40)),) for _ in range(PAIRS)]
    if name.startswith("log"):
        return positive
    if name == "pow":
        return [(base, draw.uniform(-8.0, 8.0)) for (base,) in positive]
    reach = 5.0 if name == "tanh" else 50.0
    return [(draw.uniform(-reach, reach),) for _ in range(PAIRS)]


def rounds_alike() -> bool:
    """Return whether this machine is one for which the figures are recorded: glibc, x86-64, fused multiply-add."""
    cpu = Path("/proc/cpuinfo")
    return platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc" and " fma " in cpu.read_text()


@pytest.mark.skipif(not rounds_alike(), reason="recorded for glibc on x86-64 with fused multiply-add")
@pytest.mark.parametrize("name", ROUNDED)
def test_the_c_library_rounds_to_the_recorded_bits(name):
    if name not in SAME_SINCE_2_28 and platform.libc_ver()[1] != RECORDED_WITH:
        pytest.skip(f"{name}() is recorded for glibc {RECORDED_WITH} only; other versions may compute it otherwise")
    values = [getattr(math, name)(*arguments).hex() for arguments in arguments_of(name)]
    assert hashlib.sha256(" ".join(values).encode()).hexdigest()[:16] == ROUNDED[name], (
        f"{name}() of this C library rounds differently: last digits, and ties, may differ from recorded ones"
    )
