"""How each experiment is measured: a module of its own with ``measure(place)``."""
