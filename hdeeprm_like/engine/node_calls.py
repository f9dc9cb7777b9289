"""Functions for platforms with partitions that runs call by address: compiled alone, and only when they are used."""

from hdeeprm_like.engine.allocation import choose_on_nodes
from hdeeprm_like.engine.calls import address_of
from hdeeprm_like.engine.compiled import callback
from hdeeprm_like.engine.node_places import has_nodes, has_nodes_when_idle, node_has_room, release_gpus
from hdeeprm_like.engine.node_sets import CHOOSE, FITS, FITS_ON, LACKS, RELEASE
from hdeeprm_like.engine.tables import CORES, NOTHING, Tables


@callback
def lacking_on_nodes(tables: Tables, j: int) -> int:
    """Return CORES if the idle nodes of a job's partition and constraint could not hold it, else NOTHING."""
    return NOTHING if has_nodes_when_idle(tables, j) else CORES


def connect(tables: Tables) -> None:
    """Write the addresses of these functions to the tables of a platform with partitions.

    Raises:
        MissingCode: one must be compiled, and numba is not installed.
    """
    calls = tables.node_sets.calls
    calls[CHOOSE] = address_of(choose_on_nodes, tables, 0, 0)
    calls[FITS] = address_of(has_nodes, tables, 0)
    calls[FITS_ON] = address_of(node_has_room, tables, 0, 0)
    calls[LACKS] = address_of(lacking_on_nodes, tables, 0)
    calls[RELEASE] = address_of(release_gpus, tables, 0)
