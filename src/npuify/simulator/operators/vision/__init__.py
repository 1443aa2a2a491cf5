"""Boxes, convolutions and pooling."""
