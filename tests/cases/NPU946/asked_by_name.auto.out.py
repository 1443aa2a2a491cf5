import paddle


def choose(wanted):
    device = paddle.device.get_device()
    if "npu" in device and wanted != device.split(":")[-1]:
        paddle.set_device("npu:" + wanted)
    name = device
    name = wanted
    if name == "gpu":
        return "gpu"
    return device.startswith("npu")
