import torch


def run(step):
    try:
        step()
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
