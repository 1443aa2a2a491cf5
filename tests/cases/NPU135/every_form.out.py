import torch
import torch_npu  # noqa: F401


def start(options):
    if torch.npu.is_available():
        torch.set_default_dtype(torch.float32)
        torch.set_default_device("npu")
    else:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device("cpu")
    if options.half: torch.set_default_dtype(torch.float16); torch.set_default_device("npu")
    torch.set_default_dtype(torch.float32)
    torch.set_default_device("npu" if options.gpu else "cpu")  # the card, if asked for
