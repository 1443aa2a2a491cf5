"""Radiance fields and renderers."""
