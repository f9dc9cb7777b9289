"""Learned policies by evolution: what a score weighs is searched for on windows of traces and of made jobs."""
