from vllm import LLM, SamplingParams

awq = LLM("TheBloke/Llama-2-7B-AWQ", quantization="awq")
ours = LLM("vllm-ascend/Qwen3-8B-W8A8", quantization="ascend", cudagraph_capture_sizes=[1, 2])
cache = LLM("facebook/opt-125m", kv_cache_dtype="auto", calculate_kv_scales=False)
params = SamplingParams(task="x")


class Mine:
    def __init__(self, device="cpu", quantization=None):
        self.device = device


mine = Mine(device="cpu", quantization="awq")
