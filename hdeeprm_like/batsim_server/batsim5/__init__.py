"""A stand-in for the Batsim 5.0.0-rc2 command over the simulation of ``batsim_server``.

``cli.main(argv)`` is the command and ``cli.play(options, ask)`` one simulation with any function that answers messages.
What Batsim 5 shares with Batsim 4 is not written again: the clock, machines, network, jobs and most of the server.

Each module imports only modules that are listed above it, and those of ``batsim_server``::

    options            what the command line and the handshake say
    handshake          the first two messages, which agree on a format and on what the scheduler wants
    json_text          JSON as FlatBuffers prints it
    profile_types      the table of profile types, and how messages tell of them
    workload           jobs and profiles, from files and from messages
    outbox             messages to the scheduler
    simulation         what of a simulation differs from Batsim 4's
    periodic           the actor that keeps calling the scheduler
    decisions          the table of what the scheduler may say, and what is done then
    server             the actor that talks to the scheduler
    outputs            the files that are written
    cli                the command
"""
