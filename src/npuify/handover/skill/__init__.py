"""The guide to repeat a move, SKILL.md: its texts, sections and files, and whether it is laid out as it must be."""
