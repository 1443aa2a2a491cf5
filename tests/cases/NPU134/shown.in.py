import torch as th

# what the log says of the machine
row = {
    "torch": th.__version__,
    "nccl": ".".join(map(str, th.cuda.nccl.version())),  # of this build
}
