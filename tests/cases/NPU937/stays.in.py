import subprocess

# vllm serve m --device cuda
subprocess.run(["vllm", "serve", "m", "--gpu-memory-utilization", "0.9", "--cudagraph-capture-sizes", "1", "2"])
subprocess.run(["vllm", "--version"])
print("start it with: vllm serve m --port 8000")
words = ["serve", "--enable-dbo"]
