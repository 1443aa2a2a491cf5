import os

import ray
import torch
import torch_npu  # noqa: F401
from vllm import LLM, AsyncEngineArgs, AsyncLLMEngine

os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"


def main():
    torch.npu.set_device(0)
    llm = LLM("facebook/opt-125m")
    return llm


def serve(args: AsyncEngineArgs):
    if torch.npu.is_available():
        print(torch.npu.get_device_properties(0))
    return AsyncLLMEngine.from_engine_args(args)


def counted():
    print(torch.npu.device_count(), torch.npu.get_device_name(0))
    torch.npu.manual_seed_all(0)
    return LLM("facebook/opt-125m", tensor_parallel_size=torch.npu.device_count())


def chosen(backend, model):
    if backend == "hf":
        return model.to("npu")
    return LLM("facebook/opt-125m")


@ray.remote
class Actor:
    def __init__(self):
        torch.npu.set_device(0)
        self.llm = LLM("facebook/opt-125m")


if __name__ == "__main__":
    print(os.getpid())
    main()
