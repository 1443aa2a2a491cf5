"""Images: filters, sampling, correlation, deformable convolution."""
