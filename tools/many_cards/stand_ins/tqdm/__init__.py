"""A progress bar that shows nothing but counts its lines, so that two of them would be seen."""


class tqdm:
    def __init__(self, iterable=None, *args, disable=False, **kwargs):
        self.iterable = iterable

    def __iter__(self):
        return iter(self.iterable)

    def __len__(self):
        return len(self.iterable)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def __getattr__(self, name):
        if name == "iterable":
            raise AttributeError(name)
        return lambda *args, **kwargs: None


def trange(*args, **kwargs):
    return tqdm(range(*args), **kwargs)
