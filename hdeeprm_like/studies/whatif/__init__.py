"""What if: a log of jobs and a machine, policies and changes, and what they would have meant for the users.

`inputs` reads the log and the machine, `changes` makes others of them, `answer` simulates and compares, `fidelity`
tells how well the simulated machine retells what the log records, `report` writes it for people.
"""
