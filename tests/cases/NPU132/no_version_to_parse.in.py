import torch
from torch.version import cuda as version

major = int(version.split(".")[0])
new = torch.version.cuda is not None and float(torch.version.cuda[:4]) > 11
tag = torch.version.cuda.replace(".", "") if torch.version.cuda else "cpu"
late = torch.version.cuda >= "12"
print("CUDA", torch.version.cuda)
