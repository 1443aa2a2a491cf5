import torch

import compute_device

old = (getattr(compute_device.api.get_device_properties(0), "major", None) or 0) < 7
props = compute_device.api.get_device_properties(f"{compute_device.type}:0")
print(props.name, props.total_memory, ((getattr(props, "major", None) or 0), (getattr(props, "minor", None) or 0)) >= (8, 0))
