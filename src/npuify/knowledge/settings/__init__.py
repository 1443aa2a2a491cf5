"""Tables of environment variables, settings of frameworks, and programs of NVIDIA's."""
