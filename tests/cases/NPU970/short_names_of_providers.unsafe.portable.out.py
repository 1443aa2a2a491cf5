import onnxruntime
import torch

import compute_device

NAMES = {"cuda": "CUDAExecutionProvider"}


def decode_execution_providers(names):
    known = onnxruntime.get_available_providers()
    return [one for one in known if one.replace("ExecutionProvider", "").lower() in names]


def suggest():
    available = [one.replace("ExecutionProvider", "").lower() for one in onnxruntime.get_available_providers()]
    for name in ("cuda", "rocm", "coreml", "dml"):
        if name in available:
            return name
    return "cpu"


providers = decode_execution_providers(["cuda"])
x = torch.ones(2, device=compute_device.type)
