"""What every policy of the benchmark plays: a change of any case is another `PROTOCOL`, so that cards stay comparable.

| case | jobs | machine | requests |
|---|---|---|---|
| ``lublin-1``, ``lublin-2`` | Lublin's model: 9 windows of 1024, 2 of 5000, the whole trace | 256 cores | exact |
| ``ctc-sp2`` | ten windows of 1024 jobs of a real log | 338 cores | of real users |
| ``gaia`` | 10 windows of 1024, 2 of 5000, of a real log | 2,280 cores of many kinds | of real users |

All run on the textbook's clock: all that has one time happens at once. Windows share no job.
"""

from dataclasses import dataclass

PROTOCOL = 1
REFERENCES = ("fcfs+easy", "sjf+easy", "saf+easy")  # beside every policy
AGAINST = "saf+easy"  # that differences are to


@dataclass(frozen=True)
class Case:
    """Some windows of a trace that comes along.

    Attributes:
        name: of the case. trace: its name. windows: as of ``compare``. platform: name of the machine, empty for a pool.
        requests: whose requested times they have, for people.
    """

    name: str
    trace: str
    windows: str
    platform: str = ""
    requests: str = "exact"


REAL = "real"
FULL = (
    *(
        Case(f"{trace}, {what}", trace, windows)
        for trace in ("lublin-1", "lublin-2")
        for what, windows in (("1024", "disjoint:9x1024"), ("5000", "disjoint:2x5000"), ("whole", "all"))
    ),
    Case("ctc-sp2, 1024", "ctc-sp2-windows", "disjoint:10x1024", requests=REAL),
    Case("gaia, 1024", "gaia", "disjoint:10x1024", "gaia", REAL),
    Case("gaia, 5000", "gaia", "disjoint:2x5000", "gaia", REAL),
)
QUICK = (
    Case("lublin-1, 200", "lublin-1", "disjoint:3x200"),
    Case("ctc-sp2, 100", "ctc-sp2", "disjoint:3x100", requests=REAL),
    Case("gaia, 100", "gaia", "disjoint:2x100", "gaia", REAL),
)
"""For tests, and to see in a minute whether a policy can be put through at all; its figures say nothing else."""
