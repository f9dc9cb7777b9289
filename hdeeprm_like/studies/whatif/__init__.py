"""What if: compare policies and changes on a log of jobs and a machine by the waits of its users.

`inputs` reads the log and the machine, `changes` modifies them, `answer` simulates and compares, `fidelity` measures
how well the simulated machine reproduces the log, `report` writes a page for people.
"""
