"""What several areas of rules share: small questions about code, and edits that more than one makes."""
