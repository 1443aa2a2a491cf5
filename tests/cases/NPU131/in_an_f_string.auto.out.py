import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

props = torch.cuda.get_device_properties(0)
print(f"{props.name}: {(getattr(props, 'major', None) or 0)}.{(getattr(props, 'minor', None) or 0)}")
print(f'{(getattr(torch.cuda.get_device_properties(0), "major", None) or 0)}')
x = torch.zeros(2).cuda()
