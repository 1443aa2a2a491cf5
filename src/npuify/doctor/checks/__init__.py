"""Checks: each judges the facts of one thing. A name never changes its meaning; scripts filter by it.

Importing this package imports all modules with checks, in the order in which their checks are run.
"""

from npuify.doctor.checks import (  # noqa: F401
    cann,
    cards,
    cards_driver,
    container,
    environment,
    hccl,
    host,
    packages,
    paddle,
    tensorflow,
)
from npuify.doctor.checks.base import registered as all_checks

__all__ = ["all_checks"]
