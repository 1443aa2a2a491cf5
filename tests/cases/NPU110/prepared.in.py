def place(x, name):
    if name == "cuda":
        return x.cuda()
    elif name == "npu":
        return x.npu()
    return x
