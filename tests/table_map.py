"""A map of columns for a log of somebody's own, which tests of imports and of odd input read."""

OWN_MAP = """
separator = ";"
[columns]
job = "id"
submit = "in"
start = "from"
end = "to"
cpus = "n"
requested_time = "limit"
memory = "ram"
nodes = "hosts"
state = "how"
[units]
requested_time = "h"
memory = "GB"
[memory]
of = "node"
[states]
good = "COMPLETED"
"""
