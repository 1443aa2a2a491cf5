import importlib
import logging

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

logging.getLogger("cuda").setLevel(logging.ERROR)
module = importlib.import_module("cuda")
found = importlib.util.find_spec("cuda")
