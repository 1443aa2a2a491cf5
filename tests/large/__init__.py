"""Each face from start to end on projects of more than 10,000 lines."""
