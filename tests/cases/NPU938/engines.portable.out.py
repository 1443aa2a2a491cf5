import os

import ray
import torch
from vllm import LLM, AsyncEngineArgs, AsyncLLMEngine

import compute_device

os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"


def main():
    compute_device.api.set_device(0)
    llm = LLM("facebook/opt-125m")
    return llm


def serve(args: AsyncEngineArgs):
    if compute_device.api.is_available():
        print(compute_device.api.get_device_properties(0))
    return AsyncLLMEngine.from_engine_args(args)


def counted():
    print(compute_device.api.device_count(), compute_device.api.get_device_name(0))
    compute_device.api.manual_seed_all(0)
    return LLM("facebook/opt-125m", tensor_parallel_size=compute_device.api.device_count())


def chosen(backend, model):
    if backend == "hf":
        return model.to(compute_device.type)
    return LLM("facebook/opt-125m")


@ray.remote
class Actor:
    def __init__(self):
        compute_device.api.set_device(0)
        self.llm = LLM("facebook/opt-125m")


if __name__ == "__main__":
    print(os.getpid())
    main()
