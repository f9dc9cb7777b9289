"""What PyBatsim loads."""
