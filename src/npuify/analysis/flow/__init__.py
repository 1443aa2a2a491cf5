"""Where a value goes, and what it is used for there."""
