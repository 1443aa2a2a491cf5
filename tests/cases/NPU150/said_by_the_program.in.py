import logging

logging.error("CUDA out of memory, try a smaller batch")
print("CUDA out of memory")
raise RuntimeError("CUDA out of memory")
