"""What rules ask about packages: their members, imports and what takes their place."""
