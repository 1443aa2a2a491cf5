import subprocess
from pathlib import Path

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

subprocess.run(["cuda", "--version"])
root = Path("cuda") / "include"
files = list(root.glob("cuda"))
with open("cuda") as stream:
    text = stream.read()
