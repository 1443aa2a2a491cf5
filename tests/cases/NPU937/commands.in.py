import os
import subprocess
import sys

subprocess.run(["vllm", "serve", "m", "--device", "cuda", "--port", "8000"])
subprocess.Popen(
    [
        sys.executable,
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--model",
        name,
        "--device",  # where it runs
        "cuda",
        "--attention-backend=FLASHINFER",
        "--gpu-memory-utilization",
        "0.9",
    ]
)
subprocess.run("vllm serve m --device cuda --enable-dbo", shell=True)
command = f"python -m vllm.entrypoints.openai.api_server --model {name} --device cuda --dtype {dtype}"
os.system(f"{command} &")
arguments = ["vllm", "serve", "m"]
arguments += ["--device=cuda", "--seed", "1"]
arguments.extend(["--all2all-backend", "pplx"])
