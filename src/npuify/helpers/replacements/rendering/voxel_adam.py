# mypy: ignore-errors
"""Steps of Adam as DirectVoxGO takes them: for all numbers, only for those with a gradient, with a rate for each.

float32 and float64; nothing is asked of the device.
"""

import torch


def _rate(step, beta1, beta2, lr):
    return lr * (1 - beta2**step) ** 0.5 / (1 - beta1**step)


def _stepped(grad, exp_avg, exp_avg_sq, beta1, beta2, eps):
    first = beta1 * exp_avg + (1 - beta1) * grad
    second = beta2 * exp_avg_sq + (1 - beta2) * grad * grad
    return first, second, first / (second.sqrt() + eps)


@torch.no_grad()
def adam_upd(param, grad, exp_avg, exp_avg_sq, step, beta1, beta2, lr, eps):
    first, second, way = _stepped(grad, exp_avg, exp_avg_sq, beta1, beta2, eps)
    exp_avg.copy_(first)
    exp_avg_sq.copy_(second)
    param -= _rate(step, beta1, beta2, lr) * way


@torch.no_grad()
def masked_adam_upd(param, grad, exp_avg, exp_avg_sq, step, beta1, beta2, lr, eps):
    """Numbers whose gradient is 0 stay as they are, and so do their moments."""
    first, second, way = _stepped(grad, exp_avg, exp_avg_sq, beta1, beta2, eps)
    moves = grad != 0
    exp_avg.copy_(torch.where(moves, first, exp_avg))
    exp_avg_sq.copy_(torch.where(moves, second, exp_avg_sq))
    param -= torch.where(moves, _rate(step, beta1, beta2, lr) * way, torch.zeros_like(way))


@torch.no_grad()
def adam_upd_with_perlr(param, grad, exp_avg, exp_avg_sq, perlr, step, beta1, beta2, lr, eps):
    first, second, way = _stepped(grad, exp_avg, exp_avg_sq, beta1, beta2, eps)
    exp_avg.copy_(first)
    exp_avg_sq.copy_(second)
    param -= _rate(step, beta1, beta2, lr) * perlr * way
