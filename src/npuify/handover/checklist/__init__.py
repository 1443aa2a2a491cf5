"""The checklist of a move: what is known of it, each point with its state, and its pages."""
