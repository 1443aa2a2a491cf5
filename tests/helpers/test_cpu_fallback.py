"""The wrapper that computes on the CPU, with a device that is made up for the test."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")

from npuify.helpers.cpu_fallback import on_cpu  # noqa: E402

FAR = torch.device("meta")


class Far(torch.Tensor):
    """A tensor that says it is on another device, and goes to the CPU and back by operators that have gradients."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        if name == "__get__" and function.__self__ is torch.Tensor.device:
            return FAR
        if name == "cpu":
            return _near(args[0])
        if name in ("copy_", "resize_"):
            with torch._C.DisableTorchFunctionSubclass():
                return function(args[0], *(_plain(one) for one in args[1:]), **kwargs)
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **kwargs)


class _Near(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any) -> Any:
        return tensor.detach().as_subclass(torch.Tensor).clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


def _near(tensor: Any) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        return _Near.apply(tensor)


def _plain(value: Any) -> Any:
    return value.as_subclass(torch.Tensor) if isinstance(value, Far) else value


def far(values: Any, **options: Any) -> Any:
    return torch.tensor(values, **options).as_subclass(Far)


@pytest.fixture(autouse=True)
def _the_way_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """``tensor.to(FAR)`` makes a tensor of that device."""
    original = torch.Tensor.to

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and args[0] == FAR:
            return self.as_subclass(Far)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, "to", to)


def _is_near(value: Any) -> None:
    assert type(value) is torch.Tensor


class Pair(NamedTuple):
    one: Any
    two: Any


@dataclasses.dataclass
class Box:
    inside: Any
    label: str = "x"


def test_without_a_tensor_elsewhere_the_function_is_called_as_it_is() -> None:
    x, box = torch.ones(2), [3]
    seen = []
    assert on_cpu(lambda *args, **kwargs: seen.append((args, kwargs)))(x, box, key=x) is None
    assert seen[0][0][0] is x
    assert seen[0][0][1] is box


def test_arguments_go_and_results_come_back() -> None:
    def double(x: Any, *, y: Any) -> Any:
        _is_near(x)
        _is_near(y)
        return x * 2 + y

    result = on_cpu(double)(far([1.0, 2.0]), y=far([1.0, 1.0]))
    assert isinstance(result, Far)
    assert _plain(result).tolist() == [3.0, 5.0]


def test_nested_containers_both_ways() -> None:
    def look(given: Any, *, more: Any) -> Any:
        tensors = [given[0], given[1]["a"][0], given[1]["a"][1].one, more.inside]
        for one in tensors:
            _is_near(one)
        assert given[1]["a"][1].two == "text"
        return {"list": [given[0]], "pair": Pair(given[0] + 1, 4), "box": Box(more.inside + 1), "n": None}

    x = far([1.0])
    result = on_cpu(look)((x, {"a": [far([2.0]), Pair(far([3.0]), "text")]}), more=Box(far([4.0])))
    assert result["list"][0] is x, "what goes through unchanged is the tensor that was given"
    assert isinstance(result["pair"], Pair)
    assert isinstance(result["pair"].one, Far)
    assert isinstance(result["box"].inside, Far)
    assert result["n"] is None
    assert result["box"].label == "x"


def test_containers_keep_their_types() -> None:
    given = collections.OrderedDict(a=far([1.0]))
    defaults = collections.defaultdict(list, b=[far([1.0])])

    def look(one: Any, other: Any) -> Any:
        assert type(one) is collections.OrderedDict
        assert type(other) is collections.defaultdict
        assert other["unknown"] == []
        return one

    assert type(on_cpu(look)(given, defaults)) is collections.OrderedDict


def test_one_tensor_given_twice_is_one_tensor() -> None:
    x = far([1.0])
    assert on_cpu(lambda a, b: a is b["c"])(x, {"c": x})


def test_devices_among_the_arguments() -> None:
    def make(x: Any, device: Any) -> Any:
        assert device == torch.device("cpu")
        return torch.ones(2, device=device) + x

    assert isinstance(on_cpu(make)(far([1.0]), device=FAR), Far)


def test_gradients() -> None:
    x = torch.tensor([1.0, 2.0]).as_subclass(Far).requires_grad_()
    w = torch.tensor([3.0, 4.0]).as_subclass(Far).requires_grad_()
    result = on_cpu(lambda x, *, w: [(x * w).sum(), x.detach()])([x, 1][0], w=w)
    _plain(result[0]).backward()
    assert x.grad is not None
    assert _plain(x.grad).tolist() == [3.0, 4.0]
    assert _plain(w.grad).tolist() == [1.0, 2.0]
    assert not result[1].requires_grad


def test_what_is_written_into_arguments_comes_back() -> None:
    out, untouched = far([0.0, 0.0]), far([float("nan"), 1.0])

    def fill(x: Any, out: Any, untouched: Any) -> None:
        out.copy_(x * 2)

    on_cpu(fill)(far([1.0, 2.0]), out, untouched)
    assert _plain(out).tolist() == [2.0, 4.0]


def test_what_is_written_behind_the_back_of_torch_comes_back() -> None:
    numpy = pytest.importorskip("numpy")
    out = far([0.0, 0.0])
    on_cpu(lambda out: numpy.copyto(out.numpy(), [5.0, 6.0]))(out)
    assert _plain(out).tolist() == [5.0, 6.0]


def test_an_argument_that_is_given_its_size_by_the_function() -> None:
    out = torch.empty(0).as_subclass(Far)
    on_cpu(lambda x, out: out.resize_(2).copy_(x))(far([1.0, 2.0]), out)
    assert _plain(out).tolist() == [1.0, 2.0]


def test_a_leaf_that_is_written_to() -> None:
    leaf = torch.tensor([1.0]).as_subclass(Far).requires_grad_()

    def change(x: Any) -> None:
        with torch.no_grad():
            x.mul_(3)

    on_cpu(change)(leaf)
    assert _plain(leaf.detach()).tolist() == [3.0]
    assert leaf.is_leaf


def test_half_precision_is_widened_where_the_function_has_no_kernel_for_it() -> None:
    calls = []

    def picky(x: Any, index: Any) -> Any:
        calls.append(x.dtype)
        if x.dtype == torch.float16:
            raise RuntimeError("\"scatter_add_cpu\" not implemented for 'Half'")
        return x * 2, index

    result, index = on_cpu(picky)(far([1.0], dtype=torch.float16), far([1]))
    assert calls == [torch.float16, torch.float32]
    assert _plain(result).dtype == torch.float16
    assert _plain(index).dtype == torch.int64


def test_other_errors_are_not_swallowed() -> None:
    def fails(x: Any) -> None:
        raise RuntimeError("sizes do not match")

    with pytest.raises(RuntimeError, match="sizes do not match"):
        on_cpu(fails)(far([1.0], dtype=torch.float16))


def test_wrapping_twice_is_wrapping_once() -> None:
    def named(x: Any) -> Any:
        """What it says."""
        return x

    once = on_cpu(named)
    assert on_cpu(once) is once
    assert once.__name__ == "named"
    assert once.__doc__ == "What it says."


@pytest.mark.parametrize(("kind", "is_moved"), [("cuda", False), ("npu", True)])
def test_tensors_on_cuda_stay_there(kind: str, is_moved: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Device:
        type = kind

    monkeypatch.setitem(globals(), "FAR", Device())
    seen = []

    def function(tensor: Any) -> None:
        seen.append(tensor)

    given = far([1.0, 2.0])
    on_cpu(function)(given)
    assert (seen[0] is given) is not is_moved
