"""Files that run in the Python of the programs."""
