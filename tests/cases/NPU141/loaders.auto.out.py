import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.utils.data as data
from torch.utils.data import DataLoader, RandomSampler, random_split

torch.set_default_dtype(torch.float32)
torch.set_default_device("npu")


def loaders(dataset, train, collate):
    a = data.DataLoader(dataset, 4, shuffle=True, collate_fn=collate, generator=torch.Generator(torch.empty(0).device).manual_seed(torch.initial_seed()))
    b = DataLoader(dataset, 4, shuffle=train, generator=torch.Generator(torch.empty(0).device).manual_seed(torch.initial_seed()))
    c = DataLoader(dataset, 4, shuffle=False)
    d = DataLoader(dataset, 4)
    e = DataLoader(dataset, 4, True, generator=torch.Generator(torch.empty(0).device).manual_seed(torch.initial_seed()))
    f = DataLoader(dataset, 4, shuffle=True, generator=torch.Generator("cuda"))
    return a, b, c, d, e, f, random_split(dataset, [1, 2], generator=torch.Generator(torch.empty(0).device).manual_seed(torch.initial_seed())), RandomSampler(dataset, generator=torch.Generator(torch.empty(0).device).manual_seed(torch.initial_seed()))
