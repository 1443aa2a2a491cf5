import torch
from torch import optim


def make(model, opt, own):
    a = torch.optim.Adam(model.parameters(), 0.1, betas=(0.0, 0.99))
    b = optim.AdamW(model.parameters(), betas=[0.0, 0.9])
    c = optim.Adam(model.parameters(), betas=(0.5, 0.999))
    d = optim.RAdam(model.parameters(), betas=(0, 0.999))
    e = own.Adam(model.parameters(), betas=(0, 0.999))
    f = optim.Adam(model.parameters(), betas=(opt.beta1, 0.999))
    beta1 = 0
    g = optim.Adam(model.parameters(), betas=(float(beta1), 0.999))
    return a, b, c, d, e, f, g


settings = dict(type="Adam", lr=0.1, betas=(0.0, 0.99))
others = dict(type="Lion", lr=0.1, betas=(0, 0.99))
