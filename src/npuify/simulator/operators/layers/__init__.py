"""Layers of networks, losses, and steps of optimizers."""
