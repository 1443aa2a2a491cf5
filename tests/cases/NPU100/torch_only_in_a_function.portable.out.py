import compute_device
def ready():
    import torch

    return compute_device.api.is_available()
