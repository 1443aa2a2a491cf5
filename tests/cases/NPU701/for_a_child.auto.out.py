import os
import subprocess

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

env = {**os.environ, "ASCEND_RT_VISIBLE_DEVICES": "0"}
env["PYTORCH_NPU_ALLOC_CONF"] = "expandable_segments:True"
subprocess.run(["python", "train.py"], env=env)
