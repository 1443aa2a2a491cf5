"""``Image.open`` of files that numpy.save wrote, whatever they are called."""

import numpy

BICUBIC = BILINEAR = NEAREST = 0


class Image:
    def __init__(self, data):
        self.data = data
        self.size = data.shape[1], data.shape[0]

    def resize(self, size, resample=0):
        wide, high = size
        rows = numpy.arange(high) * self.data.shape[0] // high
        columns = numpy.arange(wide) * self.data.shape[1] // wide
        return Image(self.data[rows][:, columns])

    def convert(self, mode):
        return self

    def __array__(self, dtype=None, copy=None):
        return self.data if dtype is None else self.data.astype(dtype)


def fromarray(data):
    return Image(data)


def open(path):
    return Image(numpy.load(path))
