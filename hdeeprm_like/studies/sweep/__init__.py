"""Run many simulations or trainings to the end: on this computer, on Slurm or on Ray.

`tasks` makes a list of tasks from a sweep file, `playing` runs them in chunks, `ledger` holds the results, `run` passes
chunks to an engine until nothing is left. `engine` is the interface, two methods, which `local`, `on_slurm` and
`on_ray` implement.
"""
