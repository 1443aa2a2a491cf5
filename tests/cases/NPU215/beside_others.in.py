import torch
import apex, os
from apex import amp, parallel  # for speed


def main():
    print(torch.__version__, os.name)
