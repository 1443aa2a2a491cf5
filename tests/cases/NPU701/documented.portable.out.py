import os
os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "0,1"
blocking = os.getenv("CUDA_LAUNCH_BLOCKING", "0")
