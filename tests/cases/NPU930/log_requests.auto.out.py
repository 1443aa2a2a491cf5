from vllm import AsyncEngineArgs

engine_args = AsyncEngineArgs(model="facebook/opt-125m", disable_log_stats=True)
logged = AsyncEngineArgs(model="facebook/opt-125m", disable_log_requests=False)
