import torch

import compute_device


def device_of(tensor, style):
    gpu = "gpu" if style == "caffe2" else compute_device.type

    def get_device_type(tensor):
        return gpu if tensor.device.type != "cpu" else "cpu"

    return get_device_type(tensor)


device = torch.device("cpu")
