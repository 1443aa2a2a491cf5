import numpy as np
import torch

torch.set_default_tensor_type("torch.cuda.FloatTensor")


def build(shape, data, x: torch.Tensor):
    parts = [torch.Tensor(4, 8), torch.Tensor(*shape), torch.Tensor(), torch.Tensor(3).fill_(1)]
    parts += [torch.Tensor([10.0]), torch.Tensor([[1, 2], [3, 4]]).sum(), torch.Tensor([n for n in data])]
    parts += [torch.Tensor(np.array(data)), torch.Tensor(data), torch.Tensor(data, device=x.device)]
    moved = torch.Tensor(data).cuda(), torch.Tensor(2, 2).to(x.device), torch.Tensor(data).cpu()
    assert isinstance(x, torch.Tensor)
    return parts, moved, torch.FloatTensor(2), torch.tensor([1.0])
