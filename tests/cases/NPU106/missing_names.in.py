from torch.cuda import comm
from torch.cuda.comm import broadcast
