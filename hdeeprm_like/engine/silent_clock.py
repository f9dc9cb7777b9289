"""The clock of a silent session of Batsim's server, exact to the last bit.

The actors are those of the embedded clock, see `actors`. What a session does not know it leaves: `advance` returns
UNUSUAL, and the server plays the session again by itself.
"""

from hdeeprm_like.engine.actor_fields import UNUSUAL
from hdeeprm_like.engine.compiled import entry
from hdeeprm_like.engine.silent_layout import UNREAD
from hdeeprm_like.engine.silent_replies import read_reply
from hdeeprm_like.engine.silent_session import Session
from hdeeprm_like.engine.turns import play


@entry
def advance(session: Session) -> int:
    """Play a session until the scheduler is to reply (ASKS), nothing more can happen (OVER), or it is UNUSUAL.

    FULL: rows and texts are to be fetched first. UNREAD: Python is to read the reply.
    """
    talk = session.talk[0]
    unread = talk.reply > 0 and not read_reply(session)
    talk.reply = 0
    if unread:
        return UNREAD
    result = play(session, session, session)
    talk.now = session.actions.pace[0].now
    return UNUSUAL if talk.unusual else result
