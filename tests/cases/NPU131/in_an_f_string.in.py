import torch

props = torch.cuda.get_device_properties(0)
print(f"{props.name}: {props.major}.{props.minor}")
print(f'{torch.cuda.get_device_properties(0).major}')
x = torch.zeros(2).cuda()
