import torch
import torch_npu  # noqa: F401

done = torch.npu.Event()
print(done.npu_event)
