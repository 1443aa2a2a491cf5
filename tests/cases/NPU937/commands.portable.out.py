import os
import subprocess
import sys

subprocess.run(["vllm", "serve", "m", "--port", "8000"])
subprocess.Popen(
    [
        sys.executable,
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--model",
        name,
        # where it runs
        "--gpu-memory-utilization",
        "0.9",
    ]
)
subprocess.run("vllm serve m", shell=True)
command = f"python -m vllm.entrypoints.openai.api_server --model {name} --dtype {dtype}"
os.system(f"{command} &")
arguments = ["vllm", "serve", "m"]
arguments += ["--seed", "1"]
arguments.extend([])
