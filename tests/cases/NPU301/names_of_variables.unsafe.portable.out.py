import compute_device
def transports(registry):
    registry.add(compute_device.dist_backend)
