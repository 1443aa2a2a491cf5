import torch
from torch import nn


def train(critic, generator, loader, use_cuda):
    one = torch.FloatTensor([1])
    mone = one * -1
    if use_cuda:
        one = one.cuda()
        mone = mone.cuda()
    for real in loader:
        real_score, label = critic(real)
        real_score = real_score.mean() - 0.001 * (real_score**2).mean()
        real_score.backward(mone)
        fake_score = critic(generator(real))
        fake_score = fake_score.mean()
        fake_score.backward(one, retain_graph=True)
        (fake_score * 2).backward(-one)
        print((real_score - fake_score).data[0])
    torch.nn.functional.mse_loss(real, real).backward(torch.ones(1, device="cuda"))
