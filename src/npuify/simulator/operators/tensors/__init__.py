"""Types, shapes, and reading and writing of elements."""
