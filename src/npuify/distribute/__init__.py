"""One card to many: a training program made to run in one process for each card."""
