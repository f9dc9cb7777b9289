"""An emulator of the Batsim 5.0.0-rc2 command, on top of the simulation of ``batsim_server``.

``cli.main(argv)`` is the command and ``cli.play(options, ask)`` one simulation with any function that answers messages.
Parts that Batsim 5 shares with Batsim 4 are reused: the clock, machines, network, jobs and most of the server.

Each module imports only modules that are listed above it, and those of ``batsim_server``::

    library            a scheduler that is a C library
    handshake          the first two messages, which settle the scheduler's wishes
    profile_types      the table of profile types, and their form in messages
    workload           jobs and profiles, from files and from messages
    outbox             messages to the scheduler
    simulation         the differences of a simulation from Batsim 4's
    probes             what probes measure
    periodic           the actor of periodic calls and probes
    decisions          the table of the scheduler's events and their handlers
    server             the actor that talks to the scheduler
    outputs            the output files
    cli                the command
"""
