import argparse

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

parser = argparse.ArgumentParser()
parser.add_argument("--platform", choices=["cuda", "cpu"], default="cuda")
