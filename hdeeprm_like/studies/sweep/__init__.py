"""Many simulations or trainings, run to the end wherever there are processors: here, on Slurm, on Ray.

`tasks` makes a list of tasks of a sweep file, `playing` runs them in chunks, `ledger` holds what is known of each,
`run` hands chunks to an engine until nothing is left. `engine` is the seam: two methods, behind which `local`,
`on_slurm` and `on_ray` are.
"""
