"""What packages have: what their functions, classes and attributes give."""
