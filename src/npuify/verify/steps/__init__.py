"""The acceptance of a migrated project, step by step, on the devices at hand."""
