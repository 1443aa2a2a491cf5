import os
import subprocess

env = {**os.environ, "ASCEND_RT_VISIBLE_DEVICES": "0"}
env["PYTORCH_NPU_ALLOC_CONF"] = "expandable_segments:True"
subprocess.run(["python", "train.py"], env=env)
