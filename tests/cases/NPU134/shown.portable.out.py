import torch as th

# what the log says of the machine
row = {
    "torch": th.__version__,
    "nccl": ".".join(map(str, (th.cuda.nccl.version() if hasattr(th._C, "_nccl_version") else (0, 0, 0)))),  # of this build
}
