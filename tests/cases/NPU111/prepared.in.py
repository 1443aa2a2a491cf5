def on_card(x):
    return x.is_cuda or x.is_npu


def kind(x):
    if x.is_cuda:
        return "gpu"
    elif x.is_npu:
        return "npu"
    return "cpu"
