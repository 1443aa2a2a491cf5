import logging

logging.info("nccl")
print("nccl")
library = "nccl" + "/lib/libnccl.so"
raise ValueError("nccl")
