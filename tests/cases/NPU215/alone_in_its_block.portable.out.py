import torch


def main(fused):
    if fused:
        pass
    print(torch.__version__)
