import os

os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MASTER_PORT"] = "29500"
