"""What scans keep for the next one."""
