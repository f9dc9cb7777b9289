"""A real machine room: a running Slurm is watched, and a policy's order is put into the priorities of its jobs.

`shown` reads what Slurm shows, `commands` runs its programs, `follow` keeps the `State` that every driver keeps,
`factors` turns an order into few bounded changes of priorities, `watch` is the loop over these.
"""
