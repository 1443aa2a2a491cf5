import torch


def main(fused):
    if fused:
        from apex.optimizers import FusedAdam
    print(torch.__version__)
