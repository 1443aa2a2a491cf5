import torch

print(f"torch.cuda.device_count() says {torch.cuda.device_count()}")
print("torch.cuda.is_available() =", torch.cuda.is_available())
