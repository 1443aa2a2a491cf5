"""Codes 6xx: packages, requirements and the project's own extensions."""
