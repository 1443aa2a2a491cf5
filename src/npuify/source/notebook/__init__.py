"""Jupyter notebooks: where the source of cells stands in the JSON, and what of it is Python, magic or shell."""
