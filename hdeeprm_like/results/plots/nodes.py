"""The state of each node over time."""

import matplotlib
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.open import load_platform
from hdeeprm_like.results.core_intervals import spread
from hdeeprm_like.results.pictures import note, time_axis
from hdeeprm_like.results.plots.charts import NO_JOBS
from hdeeprm_like.results.run_reader import Run
from hdeeprm_like.types import Floats, Ints

PLATFORM = "platform.xml"
STRETCHES = 600  # of time: columns of the picture
GROUPS = 64  # of cores, where the nodes are not known


def nodes(figure: Figure, run: Run) -> None:
    """Draw the busy share of the cores of each node over time, white where all are idle."""
    axes = figure.subplots()
    seconds = time_axis(axes, run.end)
    if not run.jobs.ran.any():
        note(axes, NO_JOBS)
        return
    node, name = nodes_of(run)
    share = busy_shares(run, node, STRETCHES)
    ramp = matplotlib.colormaps["cividis_r"].with_extremes(under="white")
    norm = Normalize(1e-6, 1.0)
    axes.imshow(
        share,
        cmap=ramp,
        norm=norm,
        aspect="auto",
        origin="lower",
        interpolation="none",
        extent=(0.0, run.end / seconds, 0.0, len(share)),
    )
    axes.set(xlabel=axes.get_xlabel(), ylabel=name)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(False)
    bar = figure.colorbar(ScalarMappable(norm, ramp), ax=axes, label="busy share of the cores", pad=0.01, aspect=30)
    bar.set_ticks([0.25, 0.5, 0.75, 1.0])


def nodes_of(run: Run) -> tuple[Ints, str]:
    """Return (C,) the node of each core, and what to call such a row; groups of cores where the nodes are not known."""
    cores = run.cores
    if run.has(PLATFORM):
        try:
            platform = load_platform(run.path(PLATFORM))
        except PlatformError:  # of another program, which does not list the nodes
            platform = None
        if platform is not None and platform.cores == cores:
            return np.asarray(platform.processor_node[platform.core_processor]), "node"
    wide = -(-cores // GROUPS)
    return np.arange(cores) // wide, "core" if wide == 1 else f"{wide} cores"


def busy_shares(run: Run, node: Ints, stretches: int) -> Floats:
    """Return the mean busy share of the cores of each node in each of equal stretches of time: (N, stretches).

    Args:
        node: (C,) of each core, never decreasing.
    """
    jobs, count = run.jobs, int(node[-1]) + 1
    blocks = jobs.blocks[jobs.ran[jobs.blocks[:, 0]]]
    low, high = node[blocks[:, 1]], node[blocks[:, 2]]
    block = np.repeat(np.arange(len(blocks)), high - low + 1)
    own = spread(low, high - low + 1)
    begins = np.searchsorted(node, np.arange(count + 1))
    cores = np.minimum(begins[own + 1], blocks[block, 2] + 1) - np.maximum(begins[own], blocks[block, 1])
    row, width = blocks[block, 0], max(run.end, 1e-9) / stretches
    change = np.zeros((count, stretches + 2))
    for times, sign in ((jobs.start[row], 1.0), (jobs.finish[row], -1.0)):
        place = np.minimum((times / width).astype(np.int64), stretches)
        rest = place + 1 - times / width  # share of that stretch which comes after it
        np.add.at(change, (own, place), sign * cores * rest)
        np.add.at(change, (own, place + 1), sign * cores * (1.0 - rest))
    busy = np.cumsum(change, axis=1)[:, :stretches] / np.diff(begins)[:, None]
    return np.clip(np.where(busy < 1e-9, 0.0, busy), 0.0, 1.0)
