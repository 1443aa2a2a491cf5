from torch.cuda import (
    Event,  # timing
    CUDAGraph,  # capture
)
