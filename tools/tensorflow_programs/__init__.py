"""Public TensorFlow programs before and after migration, on the CPU: what they print has to be the same."""
