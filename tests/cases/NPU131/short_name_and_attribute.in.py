import torch


class Card:
    def __init__(self):
        self.props = torch.cuda.get_device_properties(0)

    def new(self):
        return self.props.major >= 8


p = torch.cuda.get_device_properties(0)
print(p.name, p.major)
