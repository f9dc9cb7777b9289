"""What differs between Batsim's actors on the embedded clock and in a session of the server, chosen by type."""

import inspect
from typing import Any

from hdeeprm_like.engine import (
    batsim_actors,
    batsim_answers,
    batsim_decisions,
    batsim_jobs,
    batsim_network,
    batsim_work,
    silent_jobs,
    silent_messages,
    silent_network,
    silent_server,
)
from hdeeprm_like.engine.bundles import BundleType
from hdeeprm_like.engine.compiled import ByType, by_type


def either(clock: Any, session: Any) -> Any:
    """Return what calls a function of the embedded clock, or in a session one with the same parameters."""

    def choose(*kinds: BundleType) -> object:
        chosen = session if any(getattr(kind, "kind", "") == "Session" for kind in kinds) else clock
        return chosen.choose_by_type(*kinds) if isinstance(chosen, ByType) else chosen

    choose.__name__, choose.__doc__ = clock.__name__, clock.__doc__
    choose.__signature__ = inspect.signature(clock)  # type: ignore[attr-defined]
    return by_type(choose)


begin = either(batsim_jobs.begin, silent_jobs.begin)
finish = either(batsim_jobs.finish, silent_jobs.finish)
look_before = either(batsim_jobs.look_before, silent_jobs.look_before)
look_after = either(batsim_jobs.look_after, silent_jobs.look_after)
look_first = either(batsim_actors.look_at_all, silent_jobs.look_first)
look_at_lowest = either(batsim_actors.look_at_lowest, silent_jobs.look_at_lowest)
rounds_to_look = either(batsim_actors.rounds_to_look, silent_jobs.rounds_to_look)
kills = either(batsim_jobs.kills, silent_jobs.kills)
start_work = either(batsim_work.start_work, silent_network.start_work)
end_work = either(batsim_work.end_work, silent_network.end_work)
begin_answer = either(batsim_answers.begin_answer, silent_server.begin_answer)
find_next = either(batsim_answers.find_next, silent_server.find_next)
deliver = either(batsim_answers.deliver, silent_messages.deliver)
has_room = either(batsim_answers.has_room, silent_messages.has_room)
has_news = either(batsim_decisions.has_news, silent_server.has_news)
act_on = either(batsim_decisions.act_on, silent_server.act_on)
goes_on = either(batsim_decisions.goes_on, silent_server.goes_on)
send_end = either(batsim_actors.send_end, silent_network.send_end)
send_inside = either(batsim_actors.send_inside, silent_network.send_inside)
arrive = either(batsim_network.arrive, silent_network.arrive)
end_latency = either(batsim_network.end_latency, silent_network.end_latency)
