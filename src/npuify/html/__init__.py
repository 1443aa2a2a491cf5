"""What all HTML pages have in common: their frame, their look, and that whatever comes from outside is escaped."""
