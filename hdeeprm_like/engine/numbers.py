"""Numbers of the job orders and placements, in a module light enough for command lines to import.

`job_keys` says what each order minimizes, `allocation` and `packing` how cores are chosen.
"""

# Orders of the queue. The first five are the job policies of the thesis (table 3.2), RANDOM_JOB is the sixth.
FIRST, SHORTEST, SMALLEST, LOW_MEM, LOW_MEM_BW, RANDOM_JOB = 0, 1, 2, 3, 4, 5
FCFS, SJF = FIRST, SHORTEST  # names used in the literature
LCFS, LJF, SAF, LAF, F1, F2, F3, F4, ORACLE, WFP3_PUBLISHED, UNICEP_PUBLISHED = range(6, 17)
WFP3, UNICEP, XFACTOR, MULTIFACTOR = range(20, 24)
FIRST_CHANGING = WFP3  # from here on keys change with time
BY_SCORE = 24  # by the score of a learned policy, see ``decision.score_files``
NUMBER_OF_ORDERS = 25

# Assumed run times of jobs. The first two never change; from FIRST_PREDICTED on they come from users' past jobs.
REQUESTED, ACTUAL, FIRST_PREDICTED = 0, 1, 2
LAST_TWO, EWMA, EXPECTED, SURVIVAL, SURVIVAL_LONG = 2, 3, 4, 5, 6

# Placements. The first six are the core policies of the thesis (table 3.2).
RANDOM_CORE, HIGH_GFLOPS, HIGH_CORES, HIGH_MEM, HIGH_MEM_BW, LOW_POWER = 0, 1, 2, 3, 4, 5
FIRST_FIT = 6  # cores of the lowest processors with room
BEST_FIT, TETRIS, TETRIS_SRTF = 7, 8, 9  # these score nodes, see ``packing``
COMPACT, SPREAD = 10, 11  # these look at the network, see ``neighbours``

# Defaults of ``hdeeprm-like slurm watch``, and so of the simulated watch of a Slurm.
WATCH_INTERVAL = 10.0  # s between two looks at the queue
WATCH_FACTOR, WATCH_DEPTH = 10_000, 1000  # the largest site factor, and the most jobs that have one
WATCH_RATE = 20.0  # most factor changes per second

# --- by name

JOB_POLICIES = {
    "random": RANDOM_JOB,
    "first": FIRST,
    "shortest": SHORTEST,
    "smallest": SMALLEST,
    "low_mem": LOW_MEM,
    "low_mem_bw": LOW_MEM_BW,
}

ORDERS = {
    "fcfs": FCFS,
    "lcfs": LCFS,
    "sjf": SJF,
    "smallest": SMALLEST,
    "ljf": LJF,
    "saf": SAF,
    "laf": LAF,
    "f1": F1,
    "f2": F2,
    "f3": F3,
    "f4": F4,
    "oracle": ORACLE,
    "wfp3": WFP3,
    "unicep": UNICEP,
    "xfactor": XFACTOR,
    "multifactor": MULTIFACTOR,
    "wfp3_published": WFP3_PUBLISHED,
    "unicep_published": UNICEP_PUBLISHED,
}

RUN_TIMES = {
    "requested": REQUESTED,
    "actual": ACTUAL,
    "tsafrir": LAST_TWO,
    "ewma": EWMA,
    "expected": EXPECTED,
    "survival": SURVIVAL,
    "survival90": SURVIVAL_LONG,
}
LEARNED = len(RUN_TIMES)  # from here on learned ones, in the order that an action space names their files

CORE_POLICIES = {
    "random": RANDOM_CORE,
    "high_gflops": HIGH_GFLOPS,
    "high_cores": HIGH_CORES,
    "high_mem": HIGH_MEM,
    "high_mem_bw": HIGH_MEM_BW,
    "low_power": LOW_POWER,
}
PACKINGS = {  # these score nodes, see ``engine.packing``
    "best_fit": BEST_FIT,
    "tetris": TETRIS,
    "tetris_srtf": TETRIS_SRTF,
}
NEIGHBOURS = {"compact": COMPACT, "spread": SPREAD}
PLACEMENTS = CORE_POLICIES | {"first_fit": FIRST_FIT} | PACKINGS | NEIGHBOURS  # also available to baselines
