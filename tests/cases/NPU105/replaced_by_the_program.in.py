import torch


class Holder:
    cuda = True


def quiet(monkeypatch, mock, holder):
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    setattr(torch.Tensor, "cuda", lambda self: self)
    with mock.patch.object(torch.nn.Module, "cuda"):
        pass
    with mock.patch.object(torch.cuda, "CUDAGraph"):
        pass
    setattr(holder, "cuda", False)
    setattr(Holder, "cuda", False)
    monkeypatch.setattr(holder, "is_cuda", lambda: True)
