"""What a machine with partitions does in its own way, called by address: a run on others does not contain it."""

from hdeeprm_like.engine.calls import call_at, number_at
from hdeeprm_like.engine.compiled import inlined
from hdeeprm_like.engine.node_sets import CHOOSE, FITS, FITS_ON, LACKS, RELEASE
from hdeeprm_like.engine.tables import Tables


@inlined
def call_choose(tables: Tables, policy: int, j: int) -> int:
    """Book the cores for a job: `choose_on_nodes`."""
    return number_at(tables.node_sets.calls[CHOOSE], tables, policy, j)


@inlined
def call_fits(tables: Tables, j: int) -> int:
    """Return 1 if a job fits now: `has_nodes`."""
    return number_at(tables.node_sets.calls[FITS], tables, j)


@inlined
def call_fits_on(tables: Tables, n: int, j: int) -> int:
    """Return 1 if a node can take all cores of a job now: `node_has_room`."""
    return number_at(tables.node_sets.calls[FITS_ON], tables, n, j)


@inlined
def call_lacking(tables: Tables, j: int) -> int:
    """Return what a job would lack on idle nodes: `lacking_on_nodes`."""
    return number_at(tables.node_sets.calls[LACKS], tables, j)


@inlined
def call_release(tables: Tables, j: int) -> None:
    """Release what a job holds beside its cores: `release_gpus`."""
    call_at(tables.node_sets.calls[RELEASE], tables, j)
