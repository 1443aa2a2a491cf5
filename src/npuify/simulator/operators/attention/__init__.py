"""Attention: fused kernels for training and inference, masks, positions, and linear attention."""
