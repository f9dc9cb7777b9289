"""The four P-states of a core: meaning, speed and power (thesis 3.1.2).

P-states are derived, never stepped: a core that serves a job is in P0, or in P1 while the jobs of its processor request
more memory bandwidth than it has; an idle core is in P2 while its processor serves some job, else in P3. The shares are
penalties meant to teach agents about interference, not measurements.
"""

from collections.abc import Sequence

P0, P1, P2, P3 = 0, 1, 2, 3

SPEED_SHARE = (1.0, 0.75, 0.0, 0.0)  # of the peak flop/s
POWER_SHARE = (1.0, 1.0, 0.25, 0.05)  # of the peak W


def change(flops: Sequence[float]) -> bool:
    """Return whether a core of these flop/s by P-state is slower while idle; hosts of other programs keep theirs."""
    return flops[P3] < flops[P0]
