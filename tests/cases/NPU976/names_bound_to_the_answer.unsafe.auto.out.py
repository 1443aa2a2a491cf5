import onnxruntime as ort

device_type = ort.get_device()
if "CANN" in device_type and "CANNExecutionProvider" in ort.get_available_providers():
    providers = ["CANNExecutionProvider"]
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
