"""The program model: what names stand for, what values are and where they go, across a project's files."""
