"""The folder that PyBatsim loads."""
