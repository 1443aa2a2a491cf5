"""Makes two runs of one program alike where devices would make them differ: seeds, random numbers, data, dropout.

What is done otherwise than the program says is written into the capture, and the comparison tells it.
"""

from __future__ import annotations

import functools
import random
import sys
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import torch

from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.verify.capture.settings import Settings
    from npuify.verify.capture.store import Store

_FACTORIES = ("rand", "randn", "randint", "randperm", "normal")
_LIKE = ("rand_like", "randn_like", "randint_like")
_OF_TENSOR = ("bernoulli", "multinomial", "poisson")
_IN_PLACE = ("normal_", "uniform_", "random_", "bernoulli_", "exponential_", "geometric_", "log_normal_", "cauchy_")
_REAL = frozenset(
    (
        "rand",
        "randn",
        "normal",
        "rand_like",
        "randn_like",
        "normal_",
        "uniform_",
        "exponential_",
        "log_normal_",
        "cauchy_",
    )
)
"""Those of them that draw real numbers, which come out otherwise in another type."""
_DROPOUTS = ("dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout")
_SEEDS_KEPT = 8


def apply(settings: Settings, store: Store) -> None:
    """Do it all; called once, right after torch has been imported."""
    _seed(settings, store)
    _deterministic()
    _random_from_cpu()
    _data_order(settings, store)
    _one_replica(store)
    if settings.dropout != "keep":
        _dropout(settings.dropout)
    _no_compiler(store)


def apply_to_npu(dropout: str) -> None:
    """What can be done only when torch_npu has been imported."""
    npu = getattr(torch, "npu", None)
    if npu is not None and hasattr(npu, "conv"):
        npu.conv.allow_hf32 = False
    package = sys.modules.get("torch_npu")
    if dropout != "keep" and package is not None and hasattr(package, "npu_fusion_attention"):
        fused = package.npu_fusion_attention

        @functools.wraps(fused)
        def without(*args: Any, **kwargs: Any) -> Any:
            if "keep_prob" in kwargs:
                kwargs["keep_prob"] = 1.0
            return fused(*args, **kwargs)

        package.npu_fusion_attention = without  # type: ignore[attr-defined]


def _seed(settings: Settings, store: Store) -> None:
    random.seed(settings.seed)
    torch.manual_seed(settings.seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        numpy.random.seed(settings.seed % 2**32)
    original = torch.manual_seed
    told: list[int] = []

    @functools.wraps(original)
    def manual_seed(seed: int) -> Any:
        if len(told) < _SEEDS_KEPT:
            told.append(int(seed))
            store.note({"event": "seed", "seed": int(seed)})
        return original(seed)

    def seed() -> int:
        original(settings.seed)
        return settings.seed

    torch.manual_seed = torch.random.manual_seed = manual_seed
    torch.seed = torch.random.seed = seed


def _deterministic() -> None:
    switch = getattr(torch._C, "_set_deterministic_algorithms", None)
    if switch is not None:
        # What torch.use_deterministic_algorithms() does besides is to load the compiler, for seconds.
        switch(True, warn_only=True)
    else:
        torch.use_deterministic_algorithms(True, warn_only=True)
    warnings.filterwarnings("ignore", message=".*does not have a deterministic implementation.*")
    # Filling new memory would cost time, and change what a program that reads it sees.
    if hasattr(torch.utils, "deterministic"):
        torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False


_twins: weakref.WeakKeyDictionary[Any, torch.Generator] = weakref.WeakKeyDictionary()


def _on_cpu(generator: Any) -> Any:
    """A generator of the CPU that stands for a device's: it starts from the same seed."""
    if generator is None or generator.device.type == "cpu":
        return generator
    if generator not in _twins:
        _twins[generator] = torch.Generator().manual_seed(generator.initial_seed())
    return _twins[generator]


def _is_plain(tensor: Any) -> bool:
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter)
    return plain and tensor.device.type != "meta" and not hasattr(tensor, "fake_mode")


def _elsewhere(tensor: Any) -> bool:
    return _is_plain(tensor) and tensor.device.type != "cpu"


def _half(name: str, dtype: torch.dtype | None) -> torch.dtype | None:
    """The type of half precision in which a function draws real numbers; None where it does not."""
    dtype = dtype or torch.get_default_dtype()
    return dtype if name in _REAL and dtype in (torch.float16, torch.bfloat16) else None


def _random_from_cpu() -> None:
    """Every device's random numbers come from the CPU's generator, so that each device gets the same ones.

    Numbers in half precision are drawn in float32 and rounded: a run in bfloat16 gets those of one in float32.
    """
    for name in _FACTORIES:
        setattr(torch, name, _factory(getattr(torch, name)))
    for name in _LIKE:
        setattr(torch, name, _like(getattr(torch, name)))
    for name in _OF_TENSOR:
        setattr(torch, name, _of_tensor(getattr(torch, name)))
        if hasattr(torch.Tensor, name):
            setattr(torch.Tensor, name, _of_tensor(getattr(torch.Tensor, name)))
    for name in _IN_PLACE:
        setattr(torch.Tensor, name, _in_place(getattr(torch.Tensor, name)))


def _with_generator(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**kwargs, "generator": _on_cpu(kwargs["generator"])} if kwargs.get("generator") is not None else kwargs


def _drawn_on_cpu(
    original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], device: Any, half: Any
) -> Any:
    """What ``original`` draws on the CPU, on ``device``; ``half``: the type it is rounded to, None for none."""
    wanted = kwargs.pop("requires_grad", False)
    drawn_as = {} if half is None else {"dtype": torch.float32}
    value = original(*args, **_with_generator({**kwargs, **drawn_as})).to(device, half)
    return value.requires_grad_() if wanted else value


def _factory(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def made(*args: Any, **kwargs: Any) -> Any:
        tensors = [one for one in (*args, *kwargs.values()) if isinstance(one, torch.Tensor)]
        if tensors:
            return _of_tensor(original)(*args, **kwargs)
        device = kwargs.get("device")
        if device is None:
            device = torch.get_default_device() if hasattr(torch, "get_default_device") else torch.device("cpu")
        device = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
        half = _half(original.__name__, kwargs.get("dtype"))
        if device.type == "meta" or kwargs.get("out") is not None or (device.type == "cpu" and half is None):
            return original(*args, **kwargs)
        kwargs.pop("pin_memory", None)
        return _drawn_on_cpu(original, args, {**kwargs, "device": "cpu"}, device, half)

    return made


def _like(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def made(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        half = _half(original.__name__, kwargs.get("dtype") or tensor.dtype)
        if not (_elsewhere(tensor) or (half is not None and _is_plain(tensor))):
            return original(tensor, *args, **kwargs)
        device = kwargs.pop("device", None) or tensor.device
        empty = torch.empty(tensor.shape, dtype=tensor.dtype)
        return _drawn_on_cpu(original, (empty, *args), kwargs, device, half)

    return made


def _of_tensor(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def made(*args: Any, **kwargs: Any) -> Any:
        away = [one for one in (*args, *kwargs.values()) if _elsewhere(one)]
        if not away or kwargs.get("out") is not None:
            return original(*args, **kwargs)
        moved = {name: _here(value) for name, value in _with_generator(kwargs).items()}
        return original(*map(_here, args), **moved).to(away[0].device)

    return made


def _in_place(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def filled(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        half = _half(original.__name__, getattr(tensor, "dtype", None))
        if not (_elsewhere(tensor) or (half is not None and _is_plain(tensor))):
            return original(tensor, *args, **kwargs)
        drawn = torch.empty(tensor.shape, dtype=tensor.dtype if half is None else torch.float32)
        moved = {name: _here(value) for name, value in _with_generator(kwargs).items()}
        original(drawn, *map(_here, args), **moved)
        return tensor.copy_(drawn)

    return filled


def _here(value: Any) -> Any:
    return value.cpu() if isinstance(value, torch.Tensor) else value


def _data_order(settings: Settings, store: Store) -> None:
    """Each loader draws its order from a generator of its own, so that nothing else moves it."""
    from torch.utils.data import DataLoader

    original = DataLoader.__init__
    made = 0

    @functools.wraps(original)
    def init(loader: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal made
        made += 1
        if len(args) < 13 and kwargs.get("generator") is None:
            kwargs["generator"] = torch.Generator().manual_seed(settings.seed + made)
        original(loader, *args, **kwargs)
        record = {
            "event": "loader",
            "number": made,
            "sampler": type(getattr(loader, "sampler", None)).__name__,
            "batch": getattr(loader, "batch_size", None),
            "workers": getattr(loader, "num_workers", 0),
            "drop_last": bool(getattr(loader, "drop_last", False)),
        }
        store.note(record)

    DataLoader.__init__ = init


def _one_replica(store: Store) -> None:
    """DataParallel runs on its first device: replicas are new modules in threads, and none of them is the model's."""
    start = torch.nn.DataParallel.__init__

    @functools.wraps(start)
    def init(model: Any, *args: Any, **kwargs: Any) -> None:
        start(model, *args, **kwargs)
        if len(getattr(model, "device_ids", ())) > 1:
            store.note_once(
                phrase("DataParallel ran only on the first of {number} devices", number=len(model.device_ids))
            )
            model.device_ids = model.device_ids[:1]

    torch.nn.DataParallel.__init__ = init


def _dropout(how: str) -> None:
    functional = torch.nn.functional

    def masked(value: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        if how == "off" or not training or p == 0:
            return value
        if p == 1:
            return value * 0
        keep = torch.empty(value.shape).bernoulli_(1 - p).div_(1 - p)
        return value * keep.to(device=value.device, dtype=value.dtype)

    functional.dropout = masked

    def plain(value: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
        return value

    for name in _DROPOUTS[1:]:
        setattr(functional, name, plain)
    attention = getattr(functional, "scaled_dot_product_attention", None)
    if attention is not None:

        @functools.wraps(attention)
        def attend(
            query: Any,
            key: Any,
            value: Any,
            attn_mask: Any = None,
            dropout_p: float = 0.0,
            is_causal: bool = False,
            **kwargs: Any,
        ) -> Any:
            return attention(query, key, value, attn_mask=attn_mask, dropout_p=0.0, is_causal=is_causal, **kwargs)

        functional.scaled_dot_product_attention = attend
    for kind in (torch.nn.RNN, torch.nn.LSTM, torch.nn.GRU):
        kind.forward = _without_dropout(kind.forward)


def _without_dropout(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def run(module: Any, *args: Any, **kwargs: Any) -> Any:
        before, module.dropout = module.dropout, 0.0
        try:
            return forward(module, *args, **kwargs)
        finally:
            module.dropout = before

    return run


def _no_compiler(store: Store) -> None:
    """A compiled model hides its modules: it runs as it is written."""
    if not hasattr(torch, "compile"):
        return

    def compiled(model: Any = None, **_options: Any) -> Any:
        store.note({"event": "note", "text": "torch.compile: disabled; the program ran uncompiled"})
        return model if model is not None else (lambda function: function)

    torch.compile = compiled
    torch.nn.Module.compile = lambda self, *args, **kwargs: None
