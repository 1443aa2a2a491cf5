class Loader:
    def __init__(self, name):
        self.is_cuda = name.startswith("gpu")

    def run(self):
        return 1 if self.is_cuda else 0
