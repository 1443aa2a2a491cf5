from torch.nn.parallel import DistributedDataParallel
from torch.cuda_tools import amp
from mytorch.cuda import Stream
