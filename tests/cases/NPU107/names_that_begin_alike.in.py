import torch.cuda_tools
import mytorch.cuda as cu
import torchvision.ops.cuda as ops
