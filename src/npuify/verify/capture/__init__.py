"""Runs a program and writes down what its modules took, gave and learned, so that two runs can be held side by side.

What runs inside the user's program (everything here but :mod:`launch`) imports nothing but the standard library and
torch; NumPy only where the program has it.
"""
