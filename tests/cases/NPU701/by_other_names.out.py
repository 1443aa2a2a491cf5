import os
import subprocess

VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"
ASKED = "ASCEND_RT_VISIBLE_DEVICES"
PRINTED = "CUDA_VISIBLE_DEVICES"
LABEL = "CUDA_VISIBLE_DEVICES=0 python train.py"


def run(command):
    print(command)
    os.system(command)


def show(command):
    print(command)


def start(gpus):
    os.environ[VISIBLE] = gpus
    if ASKED in os.environ:
        print(PRINTED)
    commands = [f"ASCEND_RT_VISIBLE_DEVICES={gpu} python train.py" for gpu in gpus.split(",")]
    for command in commands:
        subprocess.run(command, shell=True)
    run("ASCEND_RT_VISIBLE_DEVICES=0 python test.py")
    show("CUDA_VISIBLE_DEVICES=0 python test.py")
    return LABEL
