"""Rows of the record of past jobs (`history`): of all jobs, of each group, of each job, and what is expected of it."""

import numpy as np

PAST = np.dtype(
    [
        ("cursor", "i8"),  # changes of the cluster that have been read
        ("errors", "f8"),  # sum of |ln(run time / requested)| of the ended jobs, fading as what is in History.demand,
        ("slowdowns", "f8"),  # and of their bounded slowdowns
        ("groups", "i8"),  # used entries of History.groups
        ("users", "i8"),  # groups of all jobs of a user
        ("siblings_at", "f8"),  # s, time of the last search for the longest running job of each group
        ("fair_as_of", "f8"),  # s, date of GROUP.used
        ("arrivals", "f8"),  # jobs submitted, recent ones weighing more,
        ("gaps", "f8"),  # s between these, with the same weights,
        ("last_submit", "f8"),  # s, last submission
        ("lengths", "f8"),  # weight of jobs in History.demand
        ("refreshed", "i8"),  # estimates renewed in this decision
        ("points", "i8"),  # used rows of History.points
    ],
    align=True,
)

GROUP = np.dtype(
    [
        ("user", "i8"),
        ("request", "f8"),  # s, ANY for all jobs of the user, PROGRAMS less the number of a program for its jobs
        ("ended", "i8"),  # ended jobs, of known users
        ("running", "i8"),
        ("waiting", "i8"),
        ("cores", "i8"),  # cores of the running jobs
        ("latest", "i8"),  # the last job to end, NONE before
        ("last", "f8"),  # s, its run time,
        ("before", "f8"),  # s, run time of the one that ended before it
        ("log_ratio", "f8"),  # mean ln(run time / requested) of ended jobs, recent ones weighing more
        ("error", "f8"),  # mean |ln(run time / requested)| of these
        ("oldest", "f8"),  # s, start of the longest running job
        ("oldest_at", "f8"),  # s, date of that search; at other dates running jobs are unknown
        ("used", "f8"),  # core seconds, the user's fading usage; see `priorities`
    ],
    align=True,
)

KNOWN = np.dtype(
    [
        ("user", "i8"),  # group of all jobs of its user
        ("group", "i8"),  # group of the jobs with its user and request
        ("before", "i8"),  # the user's job that ended before this one, NONE for none
        ("program", "i8"),  # group of the jobs of its user and program, NONE if unknown,
        ("same_before", "i8"),  # and the one of these that ended before this one, NONE for none
        ("log_request", "f8"),  # ln(requested time in s)
        ("log_cores", "f8"),
        ("work", "f8"),  # core seconds as requested,
        ("log_ran", "f8"),  # ln(max(run time in s, LEAST)), once it has ended
    ],
    align=True,
)

OUTLOOK = np.dtype(  # what some run times expect of a waiting job: a distribution, or one run time for certain
    [
        ("seen", "i8"),  # number of the user's ended jobs when it was made, NONE for none
        ("made", "f8"),  # s, when it was made
        ("time", "f8"),  # s, mean run time
        ("rate", "f8"),  # 1/s, mean of 1 / max(run time, 10 s)
        ("log_time", "f8"),  # mean of ln(max(run time, 10 s))
        ("short", "f8"),  # probability of a run time below 10 minutes
        ("work", "f8"),  # core seconds, by the mean of logarithms
        ("long", "f8"),  # s, run time that nine of ten such jobs do not exceed; of the survival model only
    ],
    align=True,
)
