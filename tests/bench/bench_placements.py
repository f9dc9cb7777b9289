"""What a learned placement costs beside the fixed ones: CPU of a window of Gaia's jobs on Batsim's clock."""

import pytest
from measuring import least
from placements import OPTIONS, judged_windows, scheduled

pytestmark = pytest.mark.bench
PLACED = f"scored:{OPTIONS / 'begin-placed.json'}"
NAMES = ("sjf+easy", "sjf+easy-high_mem_bw", "sjf+easy-tetris", f"sjf+easy-{PLACED}", f"{PLACED}-high_gflops", PLACED)


@pytest.mark.parametrize("machine", ["gaia", "gpus"])
def test_milliseconds_of_a_window(machine):
    windows = [window for window, _ in zip(judged_windows(machine), range(3), strict=False)]
    for name in NAMES:
        seconds = least(3, lambda one=name: [scheduled(*window, one) for window in windows])
        print(f"{machine}, {name.replace(PLACED, 'PLACED')}: {1e3 * seconds / len(windows):.1f} ms a window")
