from vllm import LLM

llm = LLM("facebook/opt-125m", gpu_memory_utilization=0.9)
