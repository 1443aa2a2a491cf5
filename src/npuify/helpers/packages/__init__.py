"""Modules that ``migrate`` writes into a project in the place of packages that only CUDA has."""
