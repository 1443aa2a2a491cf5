import paddle

use_cuda = paddle.is_compiled_with_cuda()
device = "cuda:0" if use_cuda else "cpu"
device = device.replace("cuda", "gpu")
device = paddle.set_device(device)


def move(x, device):
    paddle.set_device(str(device).replace("cuda", "gpu"))
    return x
