import torch

import compute_device


def run(step):
    try:
        step()
    except torch.cuda.OutOfMemoryError:
        compute_device.api.empty_cache()
