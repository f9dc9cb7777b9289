"""What a learned placement costs beside the fixed ones: CPU of a window of Gaia's jobs on Batsim's clock."""

import time

import pytest
from placements import OPTIONS, judged_windows, scheduled

pytestmark = pytest.mark.bench
PLACED = f"scored:{OPTIONS / 'begin-placed.json'}"
NAMES = ("sjf+easy", "sjf+easy-high_mem_bw", "sjf+easy-tetris", f"sjf+easy-{PLACED}", f"{PLACED}-high_gflops", PLACED)


@pytest.mark.parametrize("machine", ["gaia", "gpus"])
def test_milliseconds_of_a_window(machine):
    windows = [window for window, _ in zip(judged_windows(machine), range(3), strict=False)]
    for name in NAMES:
        times = []
        for _ in range(3):
            begun = time.process_time()
            for platform, jobs in windows:
                scheduled(platform, jobs, name)
            times.append((time.process_time() - begun) / len(windows) * 1e3)
        print(f"{machine}, {name.replace(PLACED, 'PLACED')}: {min(times):.1f} ms a window")
