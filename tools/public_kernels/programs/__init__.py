"""What is run of each project: its own functions, forward and backward, beside the definition in double precision."""
