"""Codes 8xx: training practice."""
