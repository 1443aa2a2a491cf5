import torch


class Options:
    cuda = True


options = Options()
flag = options.cuda
if flag and not options.cuda:
    raise SystemExit(torch.__version__)
