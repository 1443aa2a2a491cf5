"""A blob detector."""
