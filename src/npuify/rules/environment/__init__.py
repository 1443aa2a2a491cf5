"""Codes 7xx: environment variables, options, settings, shell commands and containers."""
