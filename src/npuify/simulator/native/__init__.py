"""The simulated device in C++: its sources, and how they are compiled."""
