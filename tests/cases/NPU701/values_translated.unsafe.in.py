import os

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["CUDA_VISIBLE_DEVICES"] = "3, 1"
os.environ.setdefault("NCCL_BUFFSIZE", "4194304")
os.environ["NCCL_DEBUG"] = 'INFO'
os.environ["NCCL_ALGO"] = "Tree"
os.environ["NCCL_IB_TIMEOUT"] = "22"
level = os.environ.get("NCCL_DEBUG", "INFO")
