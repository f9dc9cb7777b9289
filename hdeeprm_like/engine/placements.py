"""The numbers of the ways to choose cores for a job; they import nothing, so that command lines may name them."""

RANDOM_CORE, HIGH_GFLOPS, HIGH_CORES, HIGH_MEM, HIGH_MEM_BW, LOW_POWER = 0, 1, 2, 3, 4, 5  # core policies, table 3.2
FIRST_FIT = 6  # cores of the lowest processors with room
BEST_FIT, TETRIS = 7, 8  # those that score nodes, see ``packing``
