import os

os.environ["ASCEND_RT_VISIBLE_DEVICES"] = ""
os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "1,3"
os.environ.setdefault("HCCL_BUFFSIZE", "4")
os.environ["HCCL_ENTRY_LOG_ENABLE"] = '1'
os.environ["NCCL_ALGO"] = "Tree"
os.environ["HCCL_RDMA_TIMEOUT"] = "20"
level = os.environ.get("NCCL_DEBUG", "INFO")
