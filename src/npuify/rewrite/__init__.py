"""From findings to the migrated project: choose edits, apply them, repeat until nothing changes, write the tree."""
