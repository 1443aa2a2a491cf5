"""Differential fuzzing: small CUDA programs, run as they are on a CUDA that is the CPU, and migrated on a simulated NPU."""
