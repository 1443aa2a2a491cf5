# mypy: ignore-errors
"""One process per card: what a training program needs for that.

Start it with ``torchrun --nproc_per_node 8 train.py``. Without torchrun it runs in one process on one card, and every
function here does what a program for one card would have done. Cards are NPUs (HCCL), else CUDA devices (NCCL), else
there are none (Gloo).
"""

import atexit
import contextlib
import functools
import itertools
import logging
import operator
import os
import random
import sys
import weakref

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, RandomSampler, Sampler, SequentialSampler

# --- the processes ---------------------------------------------------------------------------------------------------


_joined = False


def setup(*, same_random_numbers=False):
    """Select this process's card and join the others; call it before anything uses a device.

    From then on only rank 0 prints and logs; warnings, and output to stderr, come from every rank.
    The group is left when the program ends, also with an error.

    Args:
        same_random_numbers: all processes draw the same random numbers while training, too: for batches that the
            program draws itself, of which each process takes its part (:func:`own_part`).
    """
    global _joined, _parted
    _parted = same_random_numbers
    if "LOCAL_RANK" not in os.environ:
        return
    if sys._getframe(1).f_globals.get("__name__") == "__mp_main__":
        return  # a DataLoader worker has imported the program; it is not a rank
    if not dist.is_initialized():
        kind, cards = _kind(), _cards()
        if kind != "cpu":
            if local_rank() >= cards:
                raise RuntimeError(
                    f"process {local_rank()} of this machine has no card: {cards} are visible; start fewer processes, "
                    "or check ASCEND_RT_VISIBLE_DEVICES"
                )
            getattr(torch, kind).set_device(local_rank())
        backend = {"npu": "cpu:gloo,npu:hccl", "cuda": "cpu:gloo,cuda:nccl", "cpu": "gloo"}[kind]
        dist.init_process_group(backend)
        _joined = True
        atexit.register(finish)
        _begin_alike()
    if not is_main():
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
        logging.disable(logging.INFO)


def _begin_alike():
    """Data that is made or split by chance, in a program that sets no seed, has to be the same everywhere."""
    seed = torch.tensor(random.getrandbits(31))
    dist.broadcast(seed, src=0)
    random.seed(int(seed))
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(int(seed))


def finish():
    """Leave the group; called automatically when the program ends."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def rank():
    """This process's number among all of them, on all machines."""
    return dist.get_rank() if dist.is_initialized() else 0


def local_rank():
    """This process's number on its own machine, which is the number of its card."""
    return int(os.environ.get("LOCAL_RANK", 0))


def world_size():
    """How many processes there are."""
    return dist.get_world_size() if dist.is_initialized() else 1


def is_main():
    """Whether this is rank 0, the one that saves, writes and prints."""
    return rank() == 0


def barrier():
    """Wait until every process is here."""
    if world_size() > 1:
        dist.all_reduce(torch.zeros(1, device=_meeting_place()))


_first_alone = False


@contextlib.contextmanager
def main_first():
    """Rank 0 goes first (it downloads), then one process of each other machine, then all others.

    So nothing is downloaded twice at once, whether the machines share their files or each has its own.
    """
    global _first_alone
    if _first_alone:
        yield
        return
    turn = 0 if is_main() else 1 if local_rank() == 0 else 2
    for _ in range(turn):
        barrier()
    _first_alone = True
    try:
        yield
    finally:
        _first_alone = False
        for _ in range(2 - turn):
            barrier()


def device(choice=None):
    """The device of this process, where the program chose one card by its number; the CPU stays the CPU."""
    if choice is not None:
        choice = torch.device(choice)
        if choice.type == "cpu" or world_size() == 1:
            return choice
    elif _kind() == "cpu":
        return torch.device("cpu")
    return torch.device(choice.type if choice is not None else _kind(), local_rank())


def card(choice):
    """The number of this process's card, where the program chose ``choice`` for itself."""
    if world_size() == 1:
        return choice
    return local_rank() if isinstance(choice, int) else device(choice)


def only_main(path):
    """``path`` on rank 0, the null device on the others: for files that are opened for writing."""
    return path if is_main() else os.devnull


def _kind():
    for kind in ("npu", "cuda"):
        if hasattr(torch, kind) and getattr(torch, kind).is_available():
            return kind
    return "cpu"


def _meeting_place():
    """Where tensors lie that all processes exchange: a group that the program made by itself may know cards only."""
    if (
        _joined
        or world_size() == 1
        or _kind() == "cpu"
        or "gloo" in str(getattr(dist, "get_backend_config", dist.get_backend)())
    ):
        return "cpu"
    return device()


def _cards():
    return 0 if _kind() == "cpu" else getattr(torch, _kind()).device_count()


class Silent:
    """Takes the place of a writer on ranks other than 0: it accepts every call, and does nothing."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


# --- the model -------------------------------------------------------------------------------------------------------


class DistributedModel(DistributedDataParallel):
    """DistributedDataParallel that leaves the rest of the program as it was written for one card.

    What the wrapped model has, this has: its methods and attributes, and a ``state_dict`` with the names that it has on
    one card. Without gradients (evaluation) the model is called directly, so that ranks need not call it equally often.
    Buffers, such as the running means of BatchNorm, are each rank's own while training, and those of rank 0 when
    ``eval()`` is called.
    """

    def forward(self, *args, **kwargs):
        if torch.is_grad_enabled():
            _part_random_numbers()
            return super().forward(*args, **kwargs)
        return self.module(*args, **kwargs)

    def train(self, mode=True):
        if self.training and not mode:
            for buffer in self.module.buffers():
                _from_main(buffer)
        return super().train(mode)

    def state_dict(self, *args, **kwargs):
        return self.module.state_dict(*args, **kwargs)

    def load_state_dict(self, *args, **kwargs):
        return self.module.load_state_dict(*args, **kwargs)

    def named_parameters(self, *args, **kwargs):
        return self.module.named_parameters(*args, **kwargs)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "module":
                raise
            return getattr(self.module, name)

    def __setattr__(self, name, value):
        module = self.__dict__.get("_modules", {}).get("module")
        if module is None or name in self.__dict__ or hasattr(DistributedDataParallel, name):
            super().__setattr__(name, value)
        elif hasattr(module, name):
            setattr(module, name, value)
        else:
            super().__setattr__(name, value)


_wrapped = weakref.WeakKeyDictionary()


def wrap(model, *, find_unused_parameters=False, sync_batchnorm=False):
    """The model, its gradients averaged over all processes; it must be on its device already.

    When it is first called to train, the processes begin to draw different random numbers (dropout, noise), as each has
    other samples. Until then all draw the same, so that data is made and split alike everywhere; what Python's module
    random draws stays the same, so that all processes take the same branch.

    Args:
        find_unused_parameters: some parameters get no gradient in some steps.
        sync_batchnorm: BatchNorm takes mean and variance over the samples of all processes.
    """
    if world_size() == 1 or isinstance(model, DistributedDataParallel):
        return model
    if model in _wrapped:
        return _wrapped[model]
    if not any(parameter.requires_grad for parameter in model.parameters()):
        return model
    whole = model
    if sync_batchnorm:
        model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    place = next(model.parameters()).device
    ids = None if place.type == "cpu" else [place.index]
    wrapped = DistributedModel(
        model, device_ids=ids, broadcast_buffers=False, find_unused_parameters=find_unused_parameters
    )
    wrapped.train(model.training)
    _wrapped[whole] = _wrapped[model] = wrapped
    return wrapped


def unwrap(model):
    """The model itself, as it was before :func:`wrap`: to save it whole, to export or copy it."""
    return model.module if isinstance(model, DistributedDataParallel) else model


def no_sync(model, *, until):
    """Gradients are only gathered in the steps where ``until`` is true: those that the optimizer takes."""
    if until or not isinstance(model, DistributedDataParallel):
        return contextlib.nullcontext()
    return model.no_sync()


def call(model, method, *args, **kwargs):
    """``model.method(…)`` in such a way that its gradients are averaged, too."""
    inner = unwrap(model)
    if inner is model or not torch.is_grad_enabled():
        return getattr(inner, method)(*args, **kwargs)
    forward = inner.forward

    def redirected(*args, **kwargs):
        inner.forward = forward
        return getattr(inner, method)(*args, **kwargs)

    inner.forward = redirected
    try:
        return model(*args, **kwargs)
    finally:
        inner.forward = forward


def _from_main(tensor):
    """Give a tensor the value that it has on rank 0."""
    value = tensor.detach().to(_meeting_place(), copy=True)
    dist.broadcast(value, src=0)
    tensor.detach().copy_(value)


_parted = False
"""Random numbers differ from process to process already, or shall not."""


def _part_random_numbers():
    global _parted
    if not _parted:
        _parted = True
        if rank() > 0:
            torch.manual_seed(torch.initial_seed() + rank())
            if "numpy" in sys.modules:
                numpy = sys.modules["numpy"].random
                numpy.seed((numpy.randint(2**31) + rank()) % 2**32)


# --- the data --------------------------------------------------------------------------------------------------------


def per_card(batch_size):
    """The batch size of one card, so that all of them together make ``batch_size``."""
    if batch_size % world_size():
        raise ValueError(f"a batch of {batch_size} cannot be split evenly among {world_size()} processes")
    return batch_size // world_size()


def scaled_lr(lr, rule):
    """The learning rate for a global batch that is ``world_size()`` times as large: ``linear`` or ``sqrt``."""
    return lr * (world_size() if rule == "linear" else world_size() ** 0.5)


def sampler(dataset, *, shuffle, drop_last=False):
    """Every process gets its own part of the samples, in an order that is the same for any number of processes."""
    return _DistributedSampler(
        dataset, num_replicas=world_size(), rank=rank(), shuffle=bool(shuffle), drop_last=bool(drop_last)
    )


class _DistributedSampler(DistributedSampler):
    """Its order comes from the program's own seed, which is asked for when all processes are here to agree on it."""

    common_seed = None

    def __iter__(self):
        if self.common_seed is None:
            self.seed = self.common_seed = _common_seed()
        return super().__iter__()


def set_epoch(loader, epoch=None):
    """Another order in each epoch. Without its number the epochs are counted here."""
    for one in (getattr(loader, "sampler", None), getattr(loader, "batch_sampler", None)):
        if hasattr(one, "set_epoch"):
            one.set_epoch(epoch if epoch is not None else getattr(one, "epoch", -1) + 1)


def shard(loader, *, keep_global_batch=False):
    """A training DataLoader over this process's part of the samples, else like ``loader``.

    Shuffling, drop_last and everything else stay as they are. Samplers of the program's own, and batch samplers, are
    asked on every process with the same random numbers, and each takes every ``world_size()``-th of what they give.
    """
    if type(loader) is not DataLoader or isinstance(loader.dataset, IterableDataset):
        raise TypeError(
            f"{type(loader).__name__} over {type(getattr(loader, 'dataset', loader)).__name__} cannot be split "
            "from outside: let its __iter__ give every world_size()-th sample, starting with rank()"
        )
    options = _options_of(loader)
    if loader.batch_size is None and loader.batch_sampler is not None:
        batches = _Part(loader.batch_sampler, split=keep_global_batch)
        return DataLoader(loader.dataset, batch_sampler=batches, **options)
    given, drop_last = loader.sampler, loader.drop_last
    plain = type(given) is SequentialSampler or (
        type(given) is RandomSampler and not given.replacement and len(given) == len(loader.dataset)
    )
    if plain:
        part = sampler(loader.dataset, shuffle=type(given) is RandomSampler, drop_last=drop_last)
    else:
        part = _Part(given, drop_last=drop_last)
    size = per_card(loader.batch_size) if keep_global_batch else loader.batch_size
    return DataLoader(loader.dataset, batch_size=size, sampler=part, drop_last=drop_last, **options)


def own_part(*tensors, dim=0):
    """This process's part of a batch that every process has made: every ``world_size()``-th of its rows.

    Raises:
        ValueError: the rows cannot be shared out evenly.
    """
    size = world_size()
    for tensor in tensors:
        if tensor.size(dim) % size:
            raise ValueError(f"{tensor.size(dim)} rows cannot be split evenly among {size} processes")
    own = tuple(
        tensor.index_select(dim, torch.arange(rank(), tensor.size(dim), size, device=tensor.device))
        if size > 1
        else tensor
        for tensor in tensors
    )
    return own[0] if len(own) == 1 else own


_parts = weakref.WeakKeyDictionary()


def my_batches(loader):
    """This process's batches of a DataLoader for evaluation: each batch goes to one process, and none twice."""
    if world_size() == 1:
        return loader
    if loader not in _parts:
        _parts[loader] = DataLoader(
            loader.dataset, batch_sampler=_Part(loader.batch_sampler, even=False), **_options_of(loader)
        )
    return _parts[loader]


def numbered(loader, start=0):
    """As ``enumerate(loader, start)``, of this process's batches only, with the numbers that they have among all."""
    for place, batch in enumerate(my_batches(loader)):
        yield start + rank() + place * world_size(), batch


class _Part(Sampler):
    """Every ``world_size()``-th of what another sampler gives, drawn alike on all processes.

    Args:
        even: give all processes equally many, by repeating the first ones (or leaving out the last, ``drop_last``).
        split: the other sampler gives batches, and each process takes its part of every one.
    """

    def __init__(self, whole, *, drop_last=False, even=True, split=False):
        self.whole = whole
        self.split = split
        self.drop_last = drop_last
        self.even = even
        self.epoch = 0
        self.seed = None

    def set_epoch(self, epoch):
        if hasattr(self.whole, "set_epoch"):
            self.whole.set_epoch(epoch)
        self.epoch = epoch

    def __len__(self):
        count, size = len(self.whole), world_size()
        if self.split:
            return count
        if not self.even:
            return (count - rank() + size - 1) // size
        return count // size if self.drop_last else (count + size - 1) // size

    def __iter__(self):
        if self.seed is None:
            self.seed = _common_seed()
        if self.split:
            yield from (_own_of(list(batch)) for batch in self._drawn())
            return
        count, size = len(self.whole), world_size()
        last = count - count % size if self.even and self.drop_last else count
        first = []
        for place, item in enumerate(itertools.islice(self._drawn(), last)):
            if len(first) < size:
                first.append(item)
            if place % size == rank():
                yield item
        if self.even and last % size:
            if rank() >= last % size:
                yield first[(rank() - last % size) % len(first)]

    def _drawn(self):
        """What the whole sampler gives, with random numbers that depend on the seed and the epoch alone."""
        if hasattr(self.whole, "generator") and self.whole.generator is None:
            self.whole.generator = torch.Generator().manual_seed(self.seed + self.epoch)
            order = iter(self.whole)
            try:
                yield from order
            finally:
                self.whole.generator = None
            return
        with _same_random_numbers(self.seed + self.epoch):
            drawn = list(self.whole)
        yield from drawn


def _own_of(batch):
    """This process's part of a batch; samples are repeated where it cannot be split evenly."""
    size = world_size()
    count = max(1, -(-len(batch) // size))
    return [batch[(rank() + place * size) % len(batch)] for place in range(count)]


@contextlib.contextmanager
def _same_random_numbers(seed):
    numpy = sys.modules.get("numpy")
    state = random.getstate(), torch.get_rng_state(), numpy.random.get_state() if numpy else None
    random.seed(seed)
    torch.random.default_generator.manual_seed(seed)
    if numpy:
        numpy.random.seed(seed % 2**32)
    try:
        yield
    finally:
        random.setstate(state[0])
        torch.set_rng_state(state[1])
        if numpy:
            numpy.random.set_state(state[2])


def _common_seed():
    """The program's own seed, or, where it has set none, the one that rank 0 started with."""
    seed = torch.tensor(torch.initial_seed() % 2**31, device=_meeting_place())
    if world_size() > 1:
        dist.broadcast(seed, src=0)
    return int(seed)


def _options_of(loader):
    names = (
        "num_workers collate_fn pin_memory timeout worker_init_fn multiprocessing_context generator prefetch_factor "
        "persistent_workers pin_memory_device"
    )
    return {name: getattr(loader, name) for name in names.split() if hasattr(loader, name)}


# --- numbers ---------------------------------------------------------------------------------------------------------


def total(*values):
    """The sum of numbers or tensors over all processes; every process must call it, and gets the same result."""
    sums = tuple(_sum(value) for value in values)
    return sums[0] if len(sums) == 1 else sums


def mean(value):
    """The mean of a number, or of a tensor with one element, over all processes, as a float."""
    number = float(value.detach().item() if isinstance(value, torch.Tensor) else value)
    if world_size() == 1:
        return number
    summed = torch.tensor(
        number, dtype=torch.float64 if _meeting_place() == "cpu" else torch.float32, device=_meeting_place()
    )
    dist.all_reduce(summed)
    return summed.item() / world_size()


def agreed(value):
    """A tensor's mean over all processes, as a tensor like it: for conditions, which must come out alike everywhere."""
    return value if world_size() == 1 else torch.full_like(value.detach(), mean(value))


def gathered(items):
    """The items of all processes in one list, in the order in which one process alone would have made them.

    Each process has appended one for each of its batches (see :func:`my_batches`).
    """
    if world_size() == 1:
        return items
    pieces = [None] * world_size()
    devices = [one.device if isinstance(one, torch.Tensor) else None for one in items]
    dist.all_gather_object(pieces, [one.cpu() if isinstance(one, torch.Tensor) else one for one in items])
    place = next((one for one in devices if one is not None), None)
    missing = object()
    rows = itertools.zip_longest(*pieces, fillvalue=missing)
    flat = [one for row in rows for one in row if one is not missing]
    return [one.to(place) if place is not None and isinstance(one, torch.Tensor) else one for one in flat]


def _sum(value):
    """Values are gathered, so that a process without a batch may hold a plain 0 where others hold a tensor."""
    if world_size() == 1:
        return value
    pieces = [None] * world_size()
    dist.all_gather_object(pieces, value.detach().cpu() if isinstance(value, torch.Tensor) else value)
    summed = functools.reduce(operator.add, pieces)
    return summed.to(value.device) if isinstance(value, torch.Tensor) else summed
