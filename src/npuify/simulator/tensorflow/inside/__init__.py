"""What runs inside the program. Python 3.7 has to be able to read it."""
