def mark(thing):
    thing.is_cuda = True
    del thing.is_cuda
    is_cuda = False
    return is_cuda
