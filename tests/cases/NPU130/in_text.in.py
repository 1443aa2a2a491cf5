TIP = "torch.cuda.get_device_capability() >= (8, 0) is needed"
print(TIP)
