"""The rules: what they share, and one folder for each area of codes."""
