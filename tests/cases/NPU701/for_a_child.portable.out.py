import os
import subprocess

env = {**os.environ, "CUDA_VISIBLE_DEVICES": "0"}
env["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
env["PYTORCH_NPU_ALLOC_CONF"] = "expandable_segments:True"
subprocess.run(["python", "train.py"], env=env)
