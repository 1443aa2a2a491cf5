import torch
import os
# for speed


def main():
    print(torch.__version__, os.name)
