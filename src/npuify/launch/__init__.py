"""Launch scripts: what starts a program on many cards of one machine or several, and what the machines need for it."""
