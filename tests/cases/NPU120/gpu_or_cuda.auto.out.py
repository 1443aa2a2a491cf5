import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def device_of(tensor, style):
    gpu = "gpu" if style == "caffe2" else "cuda"

    def get_device_type(tensor):
        return gpu if tensor.device.type != "cpu" else "cpu"

    return get_device_type(tensor)


device = torch.device("cpu")
