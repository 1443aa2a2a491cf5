import torch
import torch.utils.data as data
from torch.utils.data import DataLoader, RandomSampler, random_split

torch.set_default_tensor_type("torch.cuda.FloatTensor")


def loaders(dataset, train, collate):
    a = data.DataLoader(dataset, 4, shuffle=True, collate_fn=collate)
    b = DataLoader(dataset, 4, shuffle=train)
    c = DataLoader(dataset, 4, shuffle=False)
    d = DataLoader(dataset, 4)
    e = DataLoader(dataset, 4, True)
    f = DataLoader(dataset, 4, shuffle=True, generator=torch.Generator("cuda"))
    return a, b, c, d, e, f, random_split(dataset, [1, 2]), RandomSampler(dataset)
