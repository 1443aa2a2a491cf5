import onnxruntime
import torch
import torch_npu  # noqa: F401

NAMES = {"cann": "CANNExecutionProvider"}


def decode_execution_providers(names):
    known = onnxruntime.get_available_providers()
    return [one for one in known if one.replace("ExecutionProvider", "").lower() in names]


def suggest():
    available = [one.replace("ExecutionProvider", "").lower() for one in onnxruntime.get_available_providers()]
    for name in ("cann", "rocm", "coreml", "dml"):
        if name in available:
            return name
    return "cpu"


providers = decode_execution_providers(["cann"])
x = torch.ones(2, device="npu")
