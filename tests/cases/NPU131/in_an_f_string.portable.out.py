import torch

import compute_device

props = compute_device.api.get_device_properties(0)
print(f"{props.name}: {(getattr(props, 'major', None) or 0)}.{(getattr(props, 'minor', None) or 0)}")
print(f'{(getattr(compute_device.api.get_device_properties(0), "major", None) or 0)}')
x = torch.zeros(2).to(compute_device.type)
