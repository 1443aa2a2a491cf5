"""Codes 4xx: operators and dtypes that an NPU runs slowly, on the CPU or not at all."""
