"""What sets the pace of Batsim's clock in a network, and where speeds of nodes follow files."""

from hdeeprm_like.engine.actions import set_rate, take_step
from hdeeprm_like.engine.batsim_actors import BatsimClock, rates_change
from hdeeprm_like.engine.batsim_speeds import take_step_at_speeds
from hdeeprm_like.engine.compiled import inlined, of_two
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.engine.traffic import has_routes, open_traffic


@inlined
def open_links(timing: BatsimClock) -> None:
    """Begin a simulation with a network."""
    open_traffic(timing.traffic)


@inlined
def no_links(timing: BatsimClock) -> None:
    """Do nothing: there is no network."""


open_network = of_two(rates_change, open_links, no_links)


@inlined
def sends(timing: BatsimClock) -> bool:
    """Return whether what jobs send takes time."""
    return has_routes(timing.traffic)


@inlined
def give_rate(timing: BatsimClock, j: int, rate: float) -> None:
    """Give the work of a job that sends its rate."""
    set_rate(timing.actions, timing.actions.places[2 * j], rate)


@inlined
def take_step_alone(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Move the clock without a network, at constant speeds."""
    return take_step(timing.actions)


move_clock = of_two(rates_change, take_step_at_speeds, take_step_alone)
