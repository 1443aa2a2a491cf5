import os
import subprocess

BATCH = 4
subprocess.run(["python", "train.py", str(BATCH)], env=dict(os.environ))
