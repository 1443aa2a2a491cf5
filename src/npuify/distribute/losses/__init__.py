"""Losses and what is counted beside them: of all processes, not of one."""
