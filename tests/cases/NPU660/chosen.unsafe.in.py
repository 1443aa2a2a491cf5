import torchvision.transforms as transforms


class Loader:
    def parse(self, kind, size):
        method = getattr(transforms, kind)
        if kind == "RandomSizedCrop":
            return method(size)
        if kind == "Scale":
            return method([size, size])
        return method()

    def composed(self, aug):
        if aug:
            return [self.parse(one, 2) for one in ["RandomSizedCrop", "ToTensor"]]
        return [self.parse(one, 2) for one in ["Scale", "CenterCrop"]]


class Kept:
    def parse(self, kind):
        return getattr(self, kind)
