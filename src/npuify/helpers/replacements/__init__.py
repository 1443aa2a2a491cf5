# mypy: ignore-errors
"""What takes the place of this project's CUDA extensions: one module for each of them, and those that they share."""
