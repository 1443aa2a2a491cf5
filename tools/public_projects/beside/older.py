"""What programs of old releases use, and the installed ones lack, is put back.

NumPy's and PyYAML's for both runs, since npuify does not move a program to other releases of them; PyTorch's only for
the original, on the CPU: what was migrated has to run on the PyTorch that it is made for.
"""


def numpy_of_old(numpy):
    """Names of plain types, which NumPy 1.24 dropped, and those that 2.0 did."""
    for name, kept in (("float", float), ("int", int), ("bool", bool), ("object", object), ("str", str)):
        if name not in vars(numpy):  # NumPy 2 has a bool of its own again
            setattr(numpy, name, kept)
    numpy.Inf = numpy.infty = numpy.inf
    numpy.float_ = numpy.float64


def yaml_of_old(yaml):
    """``load`` without a loader, which PyYAML 6 refuses."""
    load = yaml.load
    yaml.load = lambda stream, Loader=yaml.FullLoader: load(stream, Loader)  # noqa: N803


def torch_of_old(torch):
    """``loss.data[0]``, ``volatile``, ``next`` of a loader's iterator, clip_grad_norm; files with more than tensors."""
    getitem = torch.Tensor.__getitem__

    def first(self, place):
        if isinstance(place, int) and place == 0 and self.dim() == 0:
            return self
        return getitem(self, place)

    torch.Tensor.__getitem__ = first

    class Variable(torch.autograd.Variable):
        def __new__(cls, data, requires_grad=False, volatile=False):
            made = data.detach() if volatile else data
            return made.requires_grad_() if requires_grad else made

    torch.autograd.Variable = torch.autograd.variable.Variable = Variable
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    _BaseDataLoaderIter.next = _BaseDataLoaderIter.__next__
    view = torch.Tensor.view

    def any_view(self, *shape):
        try:
            return view(self, *shape)
        except RuntimeError:  # comparisons gave contiguous tensors before 1.7
            return self.reshape(*shape)

    torch.Tensor.view = any_view
    torch.nn.utils.clip_grad_norm = torch.nn.utils.clip_grad_norm_
    stft = torch.stft
    torch.stft = lambda *args, return_complex=False, **kwargs: stft(*args, return_complex=return_complex, **kwargs)
    load = torch.load
    torch.load = lambda *args, **kwargs: load(*args, **{"weights_only": False, **kwargs})


def transforms_of_old(transforms):
    """The names that two transforms had before torchvision 0.12."""
    transforms.Scale, transforms.RandomSizedCrop = transforms.Resize, transforms.RandomResizedCrop
