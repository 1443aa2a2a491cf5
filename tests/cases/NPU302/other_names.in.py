class Backend:
    NCCL = "nccl-like"
    GLOO = "gloo"


print(Backend.NCCL)
