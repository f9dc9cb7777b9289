"""An imitation of the Batsim 4.2.1 command, to the nanosecond: schedulers cannot tell it from Batsim.

``cli.main(argv)`` is the command, ``cli.serve(options)`` one simulation over ZeroMQ and ``cli.play(options, ask)``
one with any function that answers messages.
"""
