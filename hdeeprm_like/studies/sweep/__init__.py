"""Run many simulations or trainings to the end: on this computer or on Slurm.

`tasks` makes a list of tasks from a sweep file, `playing` runs them in chunks, `ledger` holds the results, `run` passes
chunks to an engine until nothing is left. `engine` is the interface, two methods, which `local` and `on_slurm`
implement.
"""
