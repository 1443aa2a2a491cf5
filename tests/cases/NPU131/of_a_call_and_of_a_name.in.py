import torch

old = torch.cuda.get_device_properties(0).major < 7
props = torch.cuda.get_device_properties("cuda:0")
print(props.name, props.total_memory, (props.major, props.minor) >= (8, 0))
