"""Every table and figure of the five documents: what was published, what we find, and whether they agree.

| module | what it holds |
|---|---|
| `experiments/R05.json` | what a document did and published, what we do, the options files, the claims |
| `measures/r05.py` | how its numbers are measured: ``measure(place)`` returns a sample for each key of the JSON file |
| `claims` | from a sample and a claim to a verdict |
| `place` | the folder of an experiment: inputs, options files, and parts that are not done twice |
| `run` | runs experiments and writes their results, each whole or not at all |
| `report` | the results as a page and as lines |

To add an experiment, write these two files; nothing else names it.
"""
