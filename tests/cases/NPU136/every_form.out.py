import numpy as np
import torch
import torch_npu  # noqa: F401

torch.set_default_dtype(torch.float32)
torch.set_default_device("npu")


def build(shape, data, x: torch.Tensor):
    parts = [torch.empty(4, 8), torch.empty(*shape), torch.empty(0), torch.empty(3).fill_(1)]
    parts += [torch.tensor([10.0], dtype=torch.get_default_dtype()), torch.tensor([[1, 2], [3, 4]], dtype=torch.get_default_dtype()).sum(), torch.tensor([n for n in data], dtype=torch.get_default_dtype())]
    parts += [torch.Tensor(np.array(data)).to(torch.empty(0).device), torch.Tensor(data).to(torch.empty(0).device), torch.Tensor(data).to(x.device)]
    moved = torch.Tensor(data).npu(), torch.Tensor(2, 2).to(x.device), torch.Tensor(data).cpu()
    assert isinstance(x, torch.Tensor)
    return parts, moved, torch.FloatTensor(2), torch.tensor([1.0])
