"""Rules for programs on JAX, which Ascend does not run."""
