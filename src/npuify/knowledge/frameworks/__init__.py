"""Tables of the frameworks beside PyTorch, and of those around it: whose word is whose."""
