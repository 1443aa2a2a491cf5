"""Checks: each judges the facts of one thing. A name never changes its meaning; scripts filter by it."""

from .base import all_checks

__all__ = ["all_checks"]
