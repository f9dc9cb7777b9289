"""What differs between Batsim's actors on the embedded clock and in a session of the server, chosen by type."""

from typing import Any

from hdeeprm_like.engine import (
    batsim_actors,
    batsim_decisions,
    batsim_jobs,
    batsim_network,
    batsim_work,
    silent_energy,
    silent_jobs,
    silent_messages,
    silent_network,
    silent_server,
)
from hdeeprm_like.engine.compiled import of_two


def is_session(kind: Any) -> bool:
    """Return whether an argument is a session."""
    return getattr(kind, "kind", "") == "Session"


begin = of_two(is_session, silent_jobs.begin, batsim_jobs.begin)
finish = of_two(is_session, silent_jobs.finish, batsim_jobs.finish)
look_before = of_two(is_session, silent_jobs.look_before, batsim_jobs.look_before)
look_after = of_two(is_session, silent_jobs.look_after, batsim_jobs.look_after)
look_first = of_two(is_session, silent_jobs.look_first, batsim_actors.look_at_all)
look_at_lowest = of_two(is_session, silent_jobs.look_at_lowest, batsim_actors.look_at_lowest)
rounds_to_look = of_two(is_session, silent_jobs.rounds_to_look, batsim_actors.rounds_to_look)
kills = of_two(is_session, silent_jobs.kills, batsim_jobs.kills)
start_work = of_two(is_session, silent_network.start_work, batsim_work.start_work)
end_work = of_two(is_session, silent_network.end_work, batsim_work.end_work)
begin_answer = of_two(is_session, silent_server.begin_answer, batsim_decisions.begin_answer)
find_next = of_two(is_session, silent_server.find_next, batsim_decisions.find_next)
deliver = of_two(is_session, silent_messages.deliver, batsim_decisions.deliver)
has_room = of_two(is_session, silent_messages.has_room, batsim_decisions.has_room)
has_news = of_two(is_session, silent_server.has_news, batsim_decisions.has_news)
act_on = of_two(is_session, silent_server.act_on, batsim_decisions.act_on)
goes_on = of_two(is_session, silent_server.goes_on, batsim_decisions.goes_on)
send_end = of_two(is_session, silent_network.send_end, batsim_actors.send_end)
send_inside = of_two(is_session, silent_network.send_inside, batsim_actors.send_inside)
sends = of_two(is_session, silent_network.sends, batsim_network.sends)
give_rate = of_two(is_session, silent_network.give_rate, batsim_network.give_rate)
begin_sending = of_two(is_session, silent_network.begin_sending, batsim_work.begin_sending)
change_rates = of_two(is_session, silent_network.change_rates, batsim_network.no_links)
note_changes = of_two(is_session, silent_energy.note_changes, batsim_network.mark_users)
follow_changes = of_two(is_session, silent_network.follow_changes, batsim_network.follow_changes)
