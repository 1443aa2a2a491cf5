from compute_device import amp
import torch.cuda.comm

print(torch.__version__)
