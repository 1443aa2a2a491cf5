import paddle

use_cuda = paddle.is_compiled_with_custom_device("npu")
device = "npu:0" if use_cuda else "cpu"
device = device.replace("cuda", "npu")
device = paddle.set_device(device)


def move(x, device):
    paddle.set_device(str(device).replace("cuda", "npu"))
    return x
