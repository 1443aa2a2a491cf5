"""Codes 2xx: mixed precision and apex."""
