import os

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import ray
import torch
from vllm import LLM, AsyncEngineArgs, AsyncLLMEngine

os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"


def main():
    torch.cuda.set_device(0)
    llm = LLM("facebook/opt-125m")
    return llm


def serve(args: AsyncEngineArgs):
    if torch.cuda.is_available():
        print(torch.cuda.get_device_properties(0))
    return AsyncLLMEngine.from_engine_args(args)


def counted():
    print(torch.cuda.device_count(), torch.cuda.get_device_name(0))
    torch.cuda.manual_seed_all(0)
    return LLM("facebook/opt-125m", tensor_parallel_size=torch.cuda.device_count())


def chosen(backend, model):
    if backend == "hf":
        return model.to("cuda")
    return LLM("facebook/opt-125m")


@ray.remote
class Actor:
    def __init__(self):
        torch.cuda.set_device(0)
        self.llm = LLM("facebook/opt-125m")


if __name__ == "__main__":
    print(os.getpid())
    main()
