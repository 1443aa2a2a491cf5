from torch import nn, optim
from torch.backends import cudnn
from torch.utils import cpp_extension
