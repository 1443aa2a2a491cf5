import torch


def taken(x, mask, n):
    a = x + torch.tensor(1.0)
    b = x * torch.tensor(2.0) > torch.tensor(0.5)
    c = torch.where(mask, x, torch.tensor(0.0, device=x.device))
    d = torch.where(mask, x, torch.tensor(0.0).to(x.device))
    e = torch.where(mask, x, torch.tensor(0.0).type_as(x))
    f = torch.where(mask, x, 0.0)
    g = torch.where(mask, x, torch.tensor([0.0]))
    h = torch.maximum(x, torch.tensor(0.0))
    i = x.masked_fill(mask, torch.tensor(0.0))
    j = torch.where(mask, x, torch.tensor(n))
    x[0] = torch.tensor(2.0)
    x.add_(torch.tensor(2.0))
    print(torch.tensor(0.0), min(torch.tensor(0.0), x))
    return a, b, c, d, e, f, g, h, i, j
