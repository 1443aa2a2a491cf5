"""{{project}}."""
