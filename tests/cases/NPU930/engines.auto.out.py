import argparse

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from vllm import LLM, AsyncEngineArgs, SamplingParams
from vllm.engine.arg_utils import EngineArgs

parser = argparse.ArgumentParser()
parser.add_argument("--gpu-memory-utilization", type=float, default=0.9)
args = parser.parse_args()

llm = LLM(
    model="facebook/opt-125m",
    tensor_parallel_size=2,  # per node
    gpu_memory_utilization=args.gpu_memory_utilization,
    num_gpu_blocks_override=100,
    enforce_eager=True,
)
first = LLM(model="facebook/opt-125m")
engine = AsyncEngineArgs(model="facebook/opt-125m", block_size=16, dtype="half")
by_variable = EngineArgs("facebook/opt-125m")
options = {"model": "facebook/opt-125m", "seed": 1}
other = LLM(**options)
more = dict(model="facebook/opt-125m")
another = LLM(**more)
weights = torch.zeros(2, device="cuda")
print(llm.generate(["hi"], SamplingParams(max_tokens=16)))
