"""Learned job scheduling for heterogeneous HPC clusters, coupled with Batsim."""

__version__ = "0.1.0"
