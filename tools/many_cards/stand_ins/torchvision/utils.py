"""Pictures are saved as tensors."""

import torch


def make_grid(tensor, *args, **kwargs):
    return tensor[0] if isinstance(tensor, (list, tuple)) or tensor.dim() == 4 else tensor


def save_image(tensor, path, *args, **kwargs):
    torch.save(torch.as_tensor(tensor).detach().cpu(), path)
