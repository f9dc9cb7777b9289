"""An emulator of the Batsim 4.2.1 command, exact to the nanosecond: schedulers cannot distinguish it from Batsim.

``cli.main(argv)`` is the command, ``cli.serve(options)`` one simulation over ZeroMQ and ``cli.play(options, ask)``
with any function that answers messages.

Each module imports only modules that are listed above it::

    options            the parsed command lines
    json_text          JSON as both versions of Batsim print it
    fields             the fields of a JSON object, checked
    replies            messages from the scheduler
    outside_events     external events of the cluster
    carrier            ZeroMQ
    simgrid_options    the options of SimGrid that change results
    arguments          the command line
    sharing            shares of hosts and links
    energy             energy of the hosts
    clock              the clock: actions, what is left of each, and the steps between their ends
    engine             the actors, which the ends of actions wake
    machines           the hosts: states, P-states, energy
    network            the links: routes, latencies
    speed_profiles     machines whose speed follows a file
    mpi                messages between the ranks of an MPI job
    mpi_traces         the lines of MPI traces
    parallel_tasks     load of a parallel task on hosts and links
    jobs               jobs, profiles, and the state of a running job
    outbox             messages to the scheduler
    profile_types      the table of profile types, a module for each kind
    workload           jobs and profiles from their JSON
    workflows          tasks and their order from DAX files
    simulation         all of the above for one simulation
    execution          actors that run and kill jobs
    submitters         actors that submit jobs and tasks, deliver events, wake the scheduler, switch machines
    scheduler_events   the table of the scheduler's events and their handlers
    server             the actor that talks to the scheduler
    silent_decisions   decisions that machine code does not read by itself
    silent_session     a session that machine code plays: its jobs and machines, messages and results
    silent             which sessions these are
    outputs            the output files
    cli                the command
    batsim5            the same for Batsim 5: its differences in messages and files

Of our other code the package imports only the errors, the reading of files and the writing of Batsim's files.
"""
