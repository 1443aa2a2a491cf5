"""Notebooks: their code cells as one program, their commands as shell scripts."""
