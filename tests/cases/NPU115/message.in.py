print("torch.cuda.is_available")
raise RuntimeError("torch.cuda.device_count")
