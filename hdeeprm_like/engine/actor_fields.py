"""What the actors of Batsim share, on the embedded clock and in a session of the server, see `actors`.

It is used by processes without numpy, too.
"""

# Actors: those below, and from JOBS on the actor of job 0, 1, ...; those that kill jobs are -1, -2, ...
SERVER, ANSWERER, SUBMITTER, CALLER, AWAKE_CALLER, JOBS = 0, 1, 2, 3, 4, 5

# Stages of the actors: what each does at its next turn
HEAR, LOOK, LISTEN, INFORM = 0, 1, 2, 3  # the server
ASK, ANSWERS, NEXT, COME, SENT = 0, 1, 2, 3, 4  # the answerer
GREETED, SUBMITTED, ARRIVED, GATHER, GREET = 0, 1, 2, 3, 4  # the submitter
BEGIN, LOOK_FIRST, SET_TIMER, AWAKE, LOOK_LAST, GONE = 0, 1, 2, 3, 4, 5  # a job
FIND, READ, STOPPED, READS = 0, 1, 2, 3  # an actor that kills jobs

OVER, ASKS, UNUSUAL, FULL = 0, 1, 2, 3  # how rounds end, see `turns.take_turns`

TALK = (
    ("ready", "i8"),  # actors of this round, or while requests are granted, of the next one
    ("at", "i8"),  # of these, those that have run
    ("first_message", "i8"),
    ("messages", "i8"),  # in the mailbox
    ("server_waits", "i8"),  # 1 while the server waits for a message
    ("on_the_way", "i8"),  # the message under way
    ("sender_first", "i8"),  # 1 if its sender runs before the server after its arrival
    ("received", "i8"),  # the message that the server has not handled yet
    ("server_stage", "i8"),
    ("server_rounds", "i8"),  # rounds that the server still yields
    ("scheduler_ready", "i8"),  # 1 if the answer to the last message is applied
    ("ends_sent", "i8"),  # 1 once the scheduler has been told that nothing more happens
    ("ended", "i8"),  # 1 once it has answered that
    ("waiters", "i8"),  # calls to come, in a session
    ("spawned", "i8"),  # the actor that the server starts
    ("answerer_stage", "i8"),
    ("command", "i8"),  # the current decision of the answer
    ("answer_date", "f8"),  # s, of that decision
    ("call_date", "f8"),  # s, of the caller that begins
    ("submitter_stage", "i8"),
    ("submitter_rounds", "i8"),  # rounds that the submitter still yields
    ("reached", "f8"),  # s, when it last looked at the clock
    ("batch", "i8"),  # jobs that it submits together
)
KILLING = (("first", "i8"), ("count", "i8"), ("at", "i8"), ("stage", "i8"))  # jobs in the list of those to kill
