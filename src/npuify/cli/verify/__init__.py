"""``npuify verify …``."""
