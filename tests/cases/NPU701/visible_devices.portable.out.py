import os


def restrict(cards):
    os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
    os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "0,1"
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(str(card) for card in sorted(cards))
    os.environ["ASCEND_RT_VISIBLE_DEVICES"] = os.environ["CUDA_VISIBLE_DEVICES"]
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return os.getenv("CUDA_VISIBLE_DEVICES", "0").split(",")
    return os.environ.get("CUDA_VISIBLE_DEVICES")
