import torch as th
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

# what the log says of the machine
row = {
    "torch": th.__version__,
    "nccl": ".".join(map(str, tuple(torch_npu.npu.utils.get_cann_version("HCCL").split(".")))),  # of this build
}
