import os
import subprocess

VISIBLE = "CUDA_VISIBLE_DEVICES"
ASKED = "CUDA_VISIBLE_DEVICES"
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
    commands = [f"CUDA_VISIBLE_DEVICES={gpu} python train.py" for gpu in gpus.split(",")]
    for command in commands:
        subprocess.run(command, shell=True)
    run("CUDA_VISIBLE_DEVICES=0 python test.py")
    show("CUDA_VISIBLE_DEVICES=0 python test.py")
    return LABEL
