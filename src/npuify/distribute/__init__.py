"""One card to many: the conversion of a program, launch scripts, cluster files."""
