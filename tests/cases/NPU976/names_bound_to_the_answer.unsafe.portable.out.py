import onnxruntime as ort

device_type = ort.get_device()
if device_type == "GPU" and "CUDAExecutionProvider" in ort.get_available_providers():
    providers = ["CANNExecutionProvider", "CUDAExecutionProvider"]
elif device_type[0:3] == "GPU":
    providers = ["ROCMExecutionProvider"]


def by_hand(kind, device_type):
    if kind == "GPU" or device_type == "GPU":
        return ["CPUExecutionProvider"]
    if kind:
        answer = ort.get_device()
    else:
        answer = "GPU"
    return answer != "GPU"
