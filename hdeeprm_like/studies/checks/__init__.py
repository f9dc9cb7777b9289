"""Whether a part of a user's own keeps the rules of scheduling, after scikit-learn's ``check_estimator``.

| check | of | what is tried |
|---|---|---|
| ``answers`` | policies, agents | it answers whenever it is called, with what is needed and legal |
| ``nothing lost`` | policies, agents | each job runs once, or the machine cannot hold it |
| ``conservation`` | policies, agents, platforms | jobs get their cores and no core or memory serves twice |
| ``no look at the future`` | policies, agents | other jobs and run times to come change no start before |
| ``determinism`` | policies, agents | the same seed gives the same schedule |
| ``cost`` | policies, agents | time of a decision, compared only where a limit is given |
| ``structure`` | platforms | cores, processors, nodes, speeds and powers fit together |
| ``files`` | platforms | written as JSON and as XML and read again, it is the same |
"""
