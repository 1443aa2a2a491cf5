"""The frameworks that a project stands on."""
