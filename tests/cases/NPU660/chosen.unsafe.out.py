import torchvision.transforms as transforms


class Loader:
    def parse(self, kind, size):
        method = getattr(transforms, kind)
        if kind == "RandomResizedCrop":
            return method(size)
        if kind == "Resize":
            return method([size, size])
        return method()

    def composed(self, aug):
        if aug:
            return [self.parse(one, 2) for one in ["RandomResizedCrop", "ToTensor"]]
        return [self.parse(one, 2) for one in ["Resize", "CenterCrop"]]


class Kept:
    def parse(self, kind):
        return getattr(self, kind)
