"""Codes 5xx: attention and fused operators."""
