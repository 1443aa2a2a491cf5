"""The program model: what the names and expressions of a project stand for, across its files, and why."""
