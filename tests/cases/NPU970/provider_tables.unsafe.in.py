from typing import Literal

import onnxruntime

ExecutionProvider = Literal["cuda", "tensorrt", "cpu"]
execution_provider_set = {
    "cuda": "CUDAExecutionProvider",
    "cpu": "CPUExecutionProvider",
}


def create_inference_providers(device_id, execution_providers):
    providers = []
    for execution_provider in execution_providers:
        if execution_provider == "cuda":
            providers.append((execution_provider_set.get(execution_provider), {"device_id": device_id}))
    return providers


session = onnxruntime.InferenceSession("net.onnx", providers=create_inference_providers(1, ["cpu", "cuda"]))
