"""Norms, losses, optimizers, experts, quantized products."""
