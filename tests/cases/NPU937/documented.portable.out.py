command = ["vllm", "serve", "facebook/opt-125m", "--port", "8000"]
