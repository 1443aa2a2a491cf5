"""Clusters: from a file of machines to the addresses of their cards, commands that set and check them, rank tables."""
