import ray
from ray.data.llm import vLLMEngineProcessorConfig
from ray.serve.llm import LLMConfig

config = vLLMEngineProcessorConfig(model_source="Qwen/Qwen2.5-0.5B-Instruct", accelerator_type="A100")
served = LLMConfig(model_loading_config={"model_id": "qwen"}, accelerator_type="L4")


@ray.remote(accelerator_type="A100")
def task():
    return 1


@ray.remote(accelerator_type="Ascend910B3")
def other():
    return 1
