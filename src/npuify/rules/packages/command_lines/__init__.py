"""What lines of scripts, Dockerfiles and notebooks install, by pip, its like and conda."""
