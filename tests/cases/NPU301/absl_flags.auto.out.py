from absl import flags

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

flags.DEFINE_string("backend", "nccl", "for torch.distributed")
