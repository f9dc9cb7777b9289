"""A stand-in for the Batsim 4.2.1 command, equal to the nanosecond: schedulers cannot tell it from Batsim.

``cli.main(argv)`` is the command, ``cli.serve(options)`` one simulation over ZeroMQ and ``cli.play(options, ask)``
one with any function that answers messages.

Each module imports only modules that are listed above it::

    arguments          the options that the command knows
    options            what the command line says
    json_text          JSON as Batsim prints it
    fields             the fields of a JSON object, checked
    replies            messages from the scheduler
    outside_events     what happens to the cluster from outside
    carrier            ZeroMQ
    simgrid_options    the options of SimGrid that change results
    sharing            who gets how much of a host or a link
    energy             what the hosts consume
    countdowns         actions, and what is left of them
    engine             the clock, and the actors that it wakes
    machines           the hosts: states, P-states, energy
    network            the links: routes, latencies
    mpi                messages between the ranks of an MPI job
    mpi_traces         the lines of MPI traces
    parallel_tasks     what a parallel task asks of hosts and links
    jobs               jobs, profiles, and what a job is made of while it runs
    outbox             messages to the scheduler
    profile_types      the table of profile types, a module for each kind
    workload           jobs and profiles from their JSON
    workflows          tasks and their order from DAX files
    simulation         all of the above for one simulation
    execution          actors that run and kill jobs
    submitters         actors that submit jobs and tasks, bring outside events, wake the scheduler, switch machines
    scheduler_events   the table of what the scheduler may say, and what is done then
    server             the actor that talks to the scheduler
    outputs            the files that are written
    cli                the command
    batsim5            the same for Batsim 5: what it says, reads and writes otherwise

The package needs nothing else of ours but the errors, the reading of files and the writing of Batsim's files.
"""
