"""What the texts of Python files show before any is parsed: which files may hold, define or mention something."""
