import torch
from torch import nn

import compute_device


def train(critic, generator, loader, use_cuda):
    one = torch.FloatTensor([1])
    mone = one * -1
    if use_cuda:
        one = one.to(compute_device.type)
        mone = mone.to(compute_device.type)
    for real in loader:
        real_score, label = critic(real)
        real_score = real_score.mean() - 0.001 * (real_score**2).mean()
        real_score.backward(mone.reshape(()))
        fake_score = critic(generator(real))
        fake_score = fake_score.mean()
        fake_score.backward(one.reshape(()), retain_graph=True)
        (fake_score * 2).backward((-one).reshape(()))
        print((real_score - fake_score).item())
    torch.nn.functional.mse_loss(real, real).backward(torch.ones(1, device=compute_device.type).reshape(()))
