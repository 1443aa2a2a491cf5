"""Edits that several rules make: of arguments, names, entries and lines."""
