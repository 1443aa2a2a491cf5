from torch.utils.data import Sampler
class Forever(Sampler):
    def __init__(self, dataset):
        super().__init__()
        self.dataset = dataset
