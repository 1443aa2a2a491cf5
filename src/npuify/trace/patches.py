"""What is replaced in the traced process, so that fake tensors get through a usual training program."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.trace.recorder import Recorder


class Finished(BaseException):
    """Enough steps were seen. Not an Exception, so that the program's own handlers let it pass."""


@contextmanager
def applied(recorder: Recorder, steps: int, notes: dict[str, None]) -> Iterator[None]:
    """Replace what has to be, for as long as this lasts.

    Args:
        steps: raise :class:`Finished` when every optimizer has done so many.
        notes: what was done otherwise than the program says is put here.
    """
    with ExitStack() as stack:
        _parameters(stack, recorder)
        _conversions(stack, recorder)
        _data(stack, notes)
        _files(stack, notes)
        _processes(stack, notes)
        _optimizers(stack, recorder, steps)
        yield


def _replace(stack: ExitStack, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    original = getattr(owner, name)
    own = name in vars(owner)
    setattr(owner, name, make(original))
    stack.callback(lambda: setattr(owner, name, original) if own else delattr(owner, name))


def _parameters(stack: ExitStack, recorder: Recorder) -> None:
    """Parameters are fake from the start, and stay the same objects when a module moves."""
    original = torch.nn.Parameter.__new__

    def new(cls: Any, data: Any = None, requires_grad: bool = True) -> Any:
        if cls is torch.nn.Parameter and type(data) is torch.Tensor and data.device.type == "cpu":
            data = recorder.fake(data)
        return original(cls, data, requires_grad)

    torch.nn.Parameter.__new__ = staticmethod(new)
    stack.callback(setattr, torch.nn.Parameter, "__new__", original)

    def make(apply: Callable[..., Any]) -> Callable[..., Any]:
        def move(module: torch.nn.Module, function: Callable[..., Any], recurse: bool = True) -> torch.nn.Module:
            own = [value for value in module._parameters.values() if value is not None]
            if any(not isinstance(value, FakeTensor) for value in own):
                return apply(module, function, recurse)
            if recurse:
                for child in module.children():
                    child._apply(function)
            for parameter in own:
                _become(recorder, parameter, function)
                if parameter.grad is not None:
                    _become(recorder, parameter.grad, function)
            for name, value in module._buffers.items():
                if value is not None:
                    module._buffers[name] = function(value)
            return module

        return move

    _replace(stack, torch.nn.Module, "_apply", make)


def _become(recorder: Recorder, tensor: Any, function: Callable[..., Any]) -> None:
    with torch.no_grad():
        moved = function(tensor)
    if moved is tensor or not isinstance(moved, FakeTensor):
        return
    tensor.data = moved
    tensor.fake_device = moved.fake_device
    recorder.log.adopt(tensor, moved)


def _conversions(stack: ExitStack, recorder: Recorder) -> None:
    """Ways out of tensors that are no operators."""

    def numbers(name: str) -> Callable[[Any], Any]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def convert(tensor: Any, *args: Any, **kwargs: Any) -> Any:
                if isinstance(tensor, FakeTensor):
                    tensor = recorder.value(tensor, f"Tensor.{name}")
                return original(tensor, *args, **kwargs)

            return convert

        return make

    for name in ("numpy", "tolist", "__array__"):
        _replace(stack, torch.Tensor, name, numbers(name))

    def tolist(tensor: FakeTensor) -> Any:
        return recorder.value(tensor, "Tensor.tolist").tolist()

    if "tolist" in vars(FakeTensor):
        _replace(stack, FakeTensor, "tolist", lambda _original: tolist)

    def formatted(original: Callable[..., Any]) -> Callable[..., Any]:
        def text(tensor: Any, specification: str) -> str:
            if isinstance(tensor, FakeTensor) and specification and tensor.dim() == 0:
                return format(tensor.item(), specification)
            return str(original(tensor, specification)) if not isinstance(tensor, FakeTensor) else repr(tensor)

        return text

    _replace(stack, torch.Tensor, "__format__", formatted)

    def same(_original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda tensor, *_args, **_kwargs: tensor

    for name in ("pin_memory", "share_memory_"):
        _replace(stack, torch.Tensor, name, same)


def _data(stack: ExitStack, notes: dict[str, None]) -> None:
    """Data is loaded in this process: fake tensors cannot be sent between processes."""
    import inspect

    from torch.utils.data import DataLoader

    signature = inspect.signature(DataLoader.__init__)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(loader: Any, *args: Any, **kwargs: Any) -> None:
            given = signature.bind(loader, *args, **kwargs)
            if given.arguments.get("num_workers"):
                notes["DataLoader: workers are left out; data is loaded in the traced process"] = None
            for name, value in (
                ("num_workers", 0),
                ("pin_memory", False),
                ("persistent_workers", False),
                ("prefetch_factor", None),
                ("timeout", 0),
                ("multiprocessing_context", None),
            ):
                if name in given.arguments:
                    given.arguments[name] = value
            original(*given.args, **given.kwargs)

        return init

    _replace(stack, DataLoader, "__init__", make)


def _files(stack: ExitStack, notes: dict[str, None]) -> None:
    saved: dict[str, Any] = {}

    def name_of(file: Any) -> str:
        return os.path.realpath(getattr(file, "name", file)) if not hasattr(file, "getbuffer") else str(id(file))

    def save(_original: Callable[..., Any]) -> Callable[..., Any]:
        def keep(obj: Any, f: Any, *_args: Any, **_kwargs: Any) -> None:
            notes[
                "torch.save: nothing is stored, for a trace has no numbers; torch.load gives back what it was given"
            ] = None
            saved[name_of(f)] = obj

        return keep

    def load(original: Callable[..., Any]) -> Callable[..., Any]:
        def back(f: Any, *args: Any, **kwargs: Any) -> Any:
            name = name_of(f)
            return saved[name] if name in saved else original(f, *args, **kwargs)

        return back

    _replace(stack, torch, "save", save)
    _replace(stack, torch, "load", load)

    def plain(_original: Callable[..., Any]) -> Callable[..., Any]:
        def compiled(model: Any = None, **_kwargs: Any) -> Any:
            notes["torch.compile: left out; the program is traced as it is written"] = None
            return model if model is not None else (lambda function: function)

        return compiled

    if hasattr(torch, "compile"):
        _replace(stack, torch, "compile", plain)


def _processes(stack: ExitStack, notes: dict[str, None]) -> None:
    """One process is traced; the others of a group are not there."""
    distributed = torch.distributed
    if not distributed.is_available():
        return
    try:
        from torch.testing._internal.distributed.fake_pg import FakeStore
    except ImportError:
        return

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(*args: Any, **kwargs: Any) -> None:
            given = dict(zip(("backend", "init_method", "timeout", "world_size", "rank"), args, strict=False), **kwargs)
            world, rank = given.get("world_size", -1), given.get("rank", -1)
            world = world if world is not None and world > 0 else int(os.environ.get("WORLD_SIZE", "1"))
            rank = rank if rank is not None and rank >= 0 else int(os.environ.get("RANK", "0"))
            notes["torch.distributed: only this process is traced; collectives reach no other one"] = None
            original("fake", rank=rank, world_size=world, store=FakeStore())

        return init

    _replace(stack, distributed, "init_process_group", make)

    class DistributedDataParallel(torch.nn.Module):  # type: ignore[misc]
        """The module that it is given; collectives of its gradients are left out."""

        def __init__(self, module: torch.nn.Module, *_args: Any, **_kwargs: Any) -> None:
            super().__init__()
            self.module = module
            notes["DistributedDataParallel: the collectives of gradients are left out"] = None

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return self.module(*args, **kwargs)

        @contextmanager
        def no_sync(self) -> Iterator[None]:
            yield

    for owner in (torch.nn.parallel, torch.nn.parallel.distributed):
        _replace(stack, owner, "DistributedDataParallel", lambda _original: DistributedDataParallel)


def _optimizers(stack: ExitStack, recorder: Recorder, steps: int) -> None:
    """Count steps, know when an optimizer is at work, and end when all have done enough."""
    from torch.optim import Optimizer, optimizer

    done: dict[int, int] = {}
    alive: list[Any] = []

    def made(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            alive.append(self)
            done[id(self)] = 0

        return init

    def before(one: Any, _args: Any, _kwargs: Any) -> None:
        if steps and done.get(id(one), 0) >= steps:
            recorder.stopped = True
            raise Finished
        recorder.in_optimizer = True

    def after(one: Any, _args: Any, _kwargs: Any) -> None:
        recorder.in_optimizer = False
        done[id(one)] = done.get(id(one), 0) + 1
        recorder.steps = max(done.values())
        if steps and all(count >= steps for count in done.values()):
            recorder.stopped = True
            raise Finished

    # Fake tensors are a class of their own; without this, optimizers would go through them one by one.
    kinds = getattr(optimizer, "_foreach_supported_types", None)
    if isinstance(kinds, list):
        kinds.append(FakeTensor)
        stack.callback(kinds.remove, FakeTensor)
    _replace(stack, Optimizer, "__init__", made)
    stack.callback(optimizer.register_optimizer_step_pre_hook(before).remove)
    stack.callback(optimizer.register_optimizer_step_post_hook(after).remove)
