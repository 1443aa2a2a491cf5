"""The whole way of a project, from the scan to what is handed over; each step is what a command of its own does."""
