"""Run many simulations or trainings to the end: on this computer or on Slurm.

`tasks` reads a sweep file: its objects make tasks in `experiments`, `comparisons` and `reproductions`, which also run
them. `ledger` holds the results, `run` passes chunks of tasks to an engine until nothing is left. `engine` is the
interface, two methods, which `local` in it and `on_slurm` implement.
"""
