import os
import subprocess

import torch
import torch_npu  # noqa: F401

os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "0,1"
command = "docker run --env ASCEND_RT_VISIBLE_DEVICES=%s image" % os.environ["ASCEND_RT_VISIBLE_DEVICES"]
print("start it with --env CUDA_VISIBLE_DEVICES=0")
os.system("cd build && ASCEND_RT_VISIBLE_DEVICES=0 python train.py")
os.system("docker run -e OMP_NUM_THREADS=1 -e ASCEND_RT_VISIBLE_DEVICES=0 image")
subprocess.run(command, shell=True)
if __name__ == "__main__":
    print(torch.ones(2).npu())
