import numpy as np
import torch
norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
if np.isnan(float(norm)):
    print("the gradient is NaN")
