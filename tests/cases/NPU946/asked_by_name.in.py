import paddle


def choose(wanted):
    device = paddle.device.get_device()
    if "gpu" in device and wanted != device.split(":")[-1]:
        paddle.set_device("gpu:" + wanted)
    name = device
    name = wanted
    if name == "gpu":
        return "gpu"
    return device.startswith("gpu")
