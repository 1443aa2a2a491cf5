import compute_device
def make(registry):
    registry.register(compute_device.type)
