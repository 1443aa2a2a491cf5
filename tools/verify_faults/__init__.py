"""Programs with planted faults, and what `npuify verify compare` has to say of them.

    python -m tools.verify_faults [--show]

captures each program sound and with each fault, compares, and prints which faults were found at the right place, and
how many pairs that differ by rounding only raised an alarm.
"""
