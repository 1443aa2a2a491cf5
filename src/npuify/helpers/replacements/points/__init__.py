"""Sets of points, voxels and sparse convolution."""
