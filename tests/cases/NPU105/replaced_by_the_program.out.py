import torch
import torch_npu  # noqa: F401


class Holder:
    cuda = True


def quiet(monkeypatch, mock, holder):
    monkeypatch.setattr(torch.npu, "synchronize", lambda: None)
    setattr(torch.Tensor, "npu", lambda self: self)
    with mock.patch.object(torch.nn.Module, "npu"):
        pass
    with mock.patch.object(torch.npu, "NPUGraph"):
        pass
    setattr(holder, "cuda", False)
    setattr(Holder, "cuda", False)
    monkeypatch.setattr(holder, "is_cuda", lambda: True)
