import os

os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "0,1"


def test():
    os.environ["MAX_PIXELS"] = "1"
    os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "0"
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
