"""A user's own rules."""
