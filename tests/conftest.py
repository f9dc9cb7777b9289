"""Settings of all tests; the clusters and workloads that they share are in ``small.py``."""

from hypothesis import settings

settings.register_profile("project", deadline=None, max_examples=50)
settings.load_profile("project")
