"""The ways in from a real machine room: logs of jobs and descriptions of machines that others wrote.

``sacct`` reads Slurm's accounting, ``table`` other logs by a map of their columns; both fill a `jobs.JobStore`, which
writes a trace. ``slurm_conf`` and ``scontrol`` read what a cluster is made of into a `machine.Machine`, which writes a
platform. Each records in a `cluster.account.Account` what was read, what was left out, and why.
"""
