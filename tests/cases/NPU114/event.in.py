import torch

done = torch.cuda.Event()
print(done.cuda_event)
