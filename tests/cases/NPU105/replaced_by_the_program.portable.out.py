import torch

import compute_device


class Holder:
    cuda = True


def quiet(monkeypatch, mock, holder):
    monkeypatch.setattr(compute_device.api, "synchronize", lambda: None)
    setattr(torch.Tensor, "cuda", lambda self: self)
    with mock.patch.object(torch.nn.Module, "cuda"):
        pass
    with mock.patch.object(compute_device.api, "NPUGraph" if compute_device.type == "npu" else "CUDAGraph"):
        pass
    setattr(holder, "cuda", False)
    setattr(Holder, "cuda", False)
    monkeypatch.setattr(holder, "is_cuda", lambda: True)
