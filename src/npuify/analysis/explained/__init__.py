"""What the program model knows of a place, for people."""
