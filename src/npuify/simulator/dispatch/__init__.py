"""Which operators PyTorch finds for the device, and those that are composed of others."""
