import torch

import compute_device


def launch(kernel, x):
    kernel(x, stream=compute_device.api.current_stream().cuda_stream)
