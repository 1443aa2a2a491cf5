from langchain_community.llms import VLLM
from ray.data.llm import vLLMEngineProcessorConfig
from ray.serve.llm import LLMConfig
from vllm import AsyncEngineArgs, AsyncLLMEngine
from vllm.engine.arg_utils import EngineArgs

config = vLLMEngineProcessorConfig(
    model_source="Qwen/Qwen2.5-0.5B-Instruct",
    engine_kwargs={"enable_chunked_prefill": True, "max_num_batched_tokens": 4096},
    placement_group_config={"bundles": [{"NPU": 1, "CPU": 1}]},
)
served = LLMConfig(
    model_loading_config=dict(model_id="qwen"),
    engine_kwargs=dict(tensor_parallel_size=2),
)
chained = VLLM(model="Qwen/Qwen2.5-0.5B-Instruct", vllm_kwargs={"enforce_eager": True})


def build(args):
    engine_args = AsyncEngineArgs.from_cli_args(args)
    engine_args.gpu_memory_utilization = 0.8
    return AsyncLLMEngine.from_engine_args(engine_args)


def change(engine_args: EngineArgs, on_gpu):
    if on_gpu:
        pass
    return engine_args


def other(engine_args, task):
    task.device = "cpu"
    return engine_args
