"""Pictures that are read from NumPy's files."""
