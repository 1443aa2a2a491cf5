"""Rules for programs on vLLM: engine arguments, options, variables, versions and images."""
