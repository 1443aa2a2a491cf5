import torch

import compute_device


def start(options):
    if compute_device.api.is_available():
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(compute_device.type)
    else:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device("cpu")
    if options.half: torch.set_default_dtype(torch.float16); torch.set_default_device(compute_device.type)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(compute_device.type if options.gpu else "cpu")  # the card, if asked for
