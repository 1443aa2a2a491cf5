import os
import subprocess

USAGE = "CUDA_VISIBLE_DEVICES=0,1 python train.py"
os.system("ASCEND_RT_VISIBLE_DEVICES=0,1 python train.py")
print("CUDA_VISIBLE_DEVICES=0 is one card")
command = f"ASCEND_RT_VISIBLE_DEVICES={os.getpid() % 8} python train.py"
subprocess.run(command, shell=True)
