import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


class Options:
    cuda = True


options = Options()
flag = options.cuda
if flag and not options.cuda:
    raise SystemExit(torch.__version__)
