from absl import flags

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

flags.DEFINE_string("device", "cuda", "where to run")
flags.DEFINE_enum("base_device", "cuda", ["cuda", "cpu"], "where to run")
