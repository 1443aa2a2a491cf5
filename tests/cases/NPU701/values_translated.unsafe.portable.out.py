import os

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["ASCEND_RT_VISIBLE_DEVICES"] = ""
os.environ["CUDA_VISIBLE_DEVICES"] = "3, 1"
os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "1,3"
os.environ.setdefault("NCCL_BUFFSIZE", "4194304")
os.environ.setdefault("HCCL_BUFFSIZE", "4")
os.environ["NCCL_DEBUG"] = 'INFO'
os.environ["HCCL_ENTRY_LOG_ENABLE"] = '1'
os.environ["NCCL_ALGO"] = "Tree"
os.environ["NCCL_IB_TIMEOUT"] = "22"
os.environ["HCCL_RDMA_TIMEOUT"] = "20"
level = os.environ.get("NCCL_DEBUG", "INFO")
