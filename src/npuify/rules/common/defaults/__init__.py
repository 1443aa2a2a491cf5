"""Defaults of options, settings and parameters, and what runs with them."""
