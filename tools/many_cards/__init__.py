"""Converts training programs with ``npuify distribute`` and runs them on simulated NPUs, against one card."""
