"""The numbers of the orders of jobs and of the ways to choose cores; light, so that command lines may name them.

`job_keys` tells what each order minimizes, `allocation` and `packing` how cores are chosen.
"""

# Orders of the queue. The first five are the job policies of the thesis (table 3.2), and RANDOM_JOB the sixth.
FIRST, SHORTEST, SMALLEST, LOW_MEM, LOW_MEM_BW, RANDOM_JOB = 0, 1, 2, 3, 4, 5
FCFS, SJF = FIRST, SHORTEST  # under the names that the literature knows them by
LCFS, LJF, SAF, LAF, F1, F2, F3, F4, ORACLE, WFP3_PUBLISHED, UNICEP_PUBLISHED = range(6, 17)
WFP3, UNICEP, XFACTOR, MULTIFACTOR = range(20, 24)
FIRST_CHANGING = WFP3  # from here on what an order minimizes changes with time
ORDERS = 24

# Ways to choose cores. The first six are the core policies of the thesis (table 3.2).
RANDOM_CORE, HIGH_GFLOPS, HIGH_CORES, HIGH_MEM, HIGH_MEM_BW, LOW_POWER = 0, 1, 2, 3, 4, 5
FIRST_FIT = 6  # cores of the lowest processors with room
BEST_FIT, TETRIS = 7, 8  # those that score nodes, see ``packing``
