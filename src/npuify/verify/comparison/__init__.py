"""Holds two captures against each other: the first module whose inputs agree and whose results do not, and why."""
