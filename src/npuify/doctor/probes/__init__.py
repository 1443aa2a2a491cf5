"""Probes: each reads one side of a machine and returns plain facts; none of them judges."""
