DEVICES = ("cpu", "cuda", "npu")


def known(device):
    return device.type in ("cuda", "npu") or device == "cuda" or device == "npu"


def card(device):
    if device.type == "cuda":
        return "gpu"
    elif device.type == "npu":
        return "npu"
    return "cpu"
