import torch
import apex.amp
import apex.optimizers as fused, apex.parallel

print(torch.__version__)
