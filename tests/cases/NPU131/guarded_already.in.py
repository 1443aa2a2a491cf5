import torch
import torch_npu

props = torch.npu.get_device_properties(0)
print(getattr(props, "major", 0), props.name, torch_npu.__version__)
