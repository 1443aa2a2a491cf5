"""How much work a project is: the verdict on it and on each of its programs, what decides it, and the hours."""
