class Loader:
    def __init__(self, name):
        self.is_cuda = name.startswith("gpu")


def is_cuda(name):
    return name == "gpu"


loader = Loader("gpu0")
loader.is_cuda = False
