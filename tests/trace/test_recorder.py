"""What the recorder sees, what it keeps fake, and the numbers that it computes when a program asks for some."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensor  # noqa: E402

from npuify.trace import patches  # noqa: E402
from npuify.trace.places import Places  # noqa: E402
from npuify.trace.recorder import Recorder  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = os.path.realpath(__file__)


@contextmanager
def traced(steps: int = 0, limit: int = 1 << 26, seconds: float = 60.0) -> Iterator[Recorder]:
    recorder = Recorder(Places([str(Path(__file__).parent)]), limit, seconds, 1 << 20)
    with patches.applied(recorder, steps, {}), recorder:
        yield recorder


def names(recorder: Recorder, phase: str | None = None) -> set[str]:
    return {key[0] for key in recorder.record.rows if phase in (None, key[5])}


def line_of(text: str) -> int:
    return next(
        n for n, line in enumerate(Path(__file__).read_text().splitlines(), 1) if text in line and "line_of" not in line
    )


def test_a_step_is_seen_with_its_phases_lines_types_and_shapes() -> None:
    with traced() as recorder:
        model = nn.Sequential(nn.Linear(8, 4), nn.ReLU())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = model(torch.ones(2, 8)).sum()  # the forward line
        loss.backward()  # the backward line
        optimizer.step()
    rows = {(key[0], key[5]): key for key in recorder.record.rows}
    forward = rows["aten::addmm", "forward"]
    assert forward[2] == (("float32", (4,)), ("float32", (2, 8)), ("float32", (8, 4)))
    assert forward[6] == (HERE, line_of("# the forward line"))
    backward = rows["aten::mm", "backward"]
    assert backward[6] == forward[6], "a backward operator belongs to the line of its forward"
    assert any(key[5] == "optimizer" for key in recorder.record.rows)
    assert recorder.steps == 1


def test_parameters_are_fake_and_data_is_real() -> None:
    with traced():
        layer = nn.Linear(3, 3)
        data = torch.randn(5, 3)
        indices = torch.randperm(5)
        assert isinstance(layer.weight, FakeTensor) and isinstance(layer.weight, nn.Parameter)
        assert not isinstance(data, FakeTensor) and not isinstance(indices, FakeTensor)
        assert isinstance(layer(data[indices]), FakeTensor)


def test_large_tensors_take_no_memory() -> None:
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with traced() as recorder:
        layer = nn.Linear(60_000, 60_000)
        loss = layer(torch.zeros(4, 60_000)).sum()
        loss.backward()
        assert layer.weight.grad is not None and layer.weight.grad.shape == (60_000, 60_000)
        assert isinstance(torch.zeros(1 << 28), FakeTensor)
        # More than a gigabyte of labels would be real: whole numbers are data.
        assert not isinstance(torch.zeros(1 << 20, dtype=torch.int64), FakeTensor)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10
    assert "aten::addmm" in names(recorder)


def test_numbers_are_computed_from_what_leads_to_them() -> None:
    with traced() as recorder:
        weight = nn.Parameter(torch.arange(6.0).reshape(2, 3))
        assert isinstance(weight, FakeTensor)
        total = (weight * 2)[1].sum()
        assert total.item() == 24.0
        with torch.no_grad():
            weight[0].add_(10)
            weight.t()[2].mul_(3)
        assert weight.tolist() == [[10.0, 11.0, 36.0], [3.0, 4.0, 15.0]]
        assert weight.detach().cpu().numpy().sum() == 79.0
        assert f"{weight.sum():.1f}" == "79.0"
    assert all(read.computed for read in recorder.record.reads.values())


def test_training_computes_what_it_computes_without_a_trace() -> None:
    def train() -> list[float]:
        model = nn.Linear(4, 1)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        losses = []
        for step in range(3):
            x = torch.full((2, 4), float(step))
            loss = (model(x) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    wanted = train()
    with traced():
        found = train()
    assert found == pytest.approx(wanted, rel=1e-5)
    assert wanted[0] != wanted[1]


def test_what_was_drawn_at_random_is_drawn_once() -> None:
    with traced():
        layer = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))
        out = layer(torch.ones(2, 8))
        assert out.tolist() == out.tolist()
        assert out.sum().item() == pytest.approx(out.detach().numpy().sum(), rel=1e-5)


def test_shapes_that_depend_on_numbers_are_computed() -> None:
    with traced() as recorder:
        mask = nn.Parameter(torch.tensor([0.0, 1.0, 2.0, 0.0])) > 0
        found = mask.nonzero()
        assert found.shape == (2, 1)
        assert found.flatten().tolist() == [1, 2]
        values = nn.Parameter(torch.arange(4.0))[mask]
        assert values.shape == (2,) and values.sum().item() == 3.0
        if mask.any():
            values = values + 1
        assert values.tolist() == [2.0, 3.0]
    assert "aten::nonzero" in names(recorder)
    assert any("depends on numbers" in read.what for read in recorder.record.reads.values())


def test_what_costs_too_much_is_assumed_and_said_to_be() -> None:
    with traced(limit=1 << 10) as recorder:
        weight = nn.Parameter(torch.zeros(1000))
        loss = (weight + 1).sum()
        assert loss.item() == 1.0
        assert bool(torch.isfinite(loss + weight).all()) in (True, False)
    assumed = [read for read in recorder.record.reads.values() if not read.computed]
    assert assumed[0].value == "1.0" and "more than" in assumed[0].reason
    assert assumed[0].place[0] == HERE


def test_computing_ends_when_its_time_is_over() -> None:
    with traced(seconds=-1.0) as recorder:
        assert (nn.Parameter(torch.zeros(2)) + 3).sum().item() == 1.0
    assert "s already" in next(iter(recorder.record.reads.values())).reason


def test_numbers_written_into_memory_of_the_cpu_arrive() -> None:
    with traced():
        losses = torch.zeros(3)
        losses[1] = (nn.Parameter(torch.ones(4)) * 2).sum()
        assert not isinstance(losses, FakeTensor)
        assert losses.tolist() == [0.0, 8.0, 0.0]


def test_it_stops_after_the_steps_asked_for() -> None:
    count = 0
    with pytest.raises(patches.Finished), traced(steps=2) as recorder:
        layer = nn.Linear(2, 2)
        optimizer = torch.optim.AdamW(layer.parameters())
        while True:
            layer(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            count += 1
    assert count == 1, "the second step is the last thing that happens"
    assert recorder.steps == 2 and recorder.stopped


def test_all_optimizers_get_their_steps() -> None:
    order = []
    with pytest.raises(patches.Finished), traced(steps=1):
        one, two = nn.Linear(2, 2), nn.Linear(2, 2)
        optimizers = [torch.optim.SGD(module.parameters(), lr=0.1) for module in (one, two)]
        while True:
            for name, module, optimizer in zip("ab", (one, two), optimizers, strict=True):
                module(torch.ones(1, 2)).sum().backward()
                order.append(name)
                optimizer.step()
    assert order == ["a", "b"]


def test_a_checkpoint_comes_back_without_a_file(tmp_path: Path) -> None:
    with traced():
        layer = nn.Linear(2, 2)
        torch.save(layer.state_dict(), tmp_path / "x.pt")
        assert not (tmp_path / "x.pt").exists()
        nn.Linear(2, 2).load_state_dict(torch.load(tmp_path / "x.pt"))


def test_a_loader_with_workers_loads_here() -> None:
    from torch.utils.data import DataLoader, TensorDataset

    with traced():
        loader = DataLoader(
            TensorDataset(torch.arange(4.0)), batch_size=2, num_workers=2, shuffle=True, prefetch_factor=3
        )
        assert sorted(value for (batch,) in loader for value in batch.tolist()) == [0.0, 1.0, 2.0, 3.0]


def test_nothing_stays_replaced() -> None:
    before = (
        torch.save,
        torch.Tensor.tolist,
        nn.Module._apply,
        nn.Parameter.__new__,
        torch.utils.data.DataLoader.__init__,
    )
    with traced():
        assert torch.save is not before[0]
    after = (
        torch.save,
        torch.Tensor.tolist,
        nn.Module._apply,
        nn.Parameter.__new__,
        torch.utils.data.DataLoader.__init__,
    )
    assert after == before
    assert not isinstance(nn.Linear(2, 2).weight, FakeTensor)


def test_models_change_type_and_keep_their_parameters() -> None:
    with traced():
        layer = nn.Linear(2, 2)
        weight = layer.weight
        layer.to(torch.bfloat16)
        assert layer.weight is weight and weight.dtype is torch.bfloat16
        assert layer(torch.ones(1, 2, dtype=torch.bfloat16)).dtype is torch.bfloat16


def test_long_lists_of_tensors_are_shortened() -> None:
    with traced() as recorder:
        many = [nn.Parameter(torch.zeros(2)) for _ in range(20)]
        torch._foreach_add(many, 1.0)
    key = next(key for key in recorder.record.rows if key[0] == "aten::_foreach_add")
    assert len(key[2]) == 9 and key[2][-1] == ("more", (12,))


def test_operators_that_only_tensors_ask_about_are_not_listed() -> None:
    with traced() as recorder:
        nn.Linear(2, 2)(torch.ones(1, 2))
    assert not any(name.startswith("prim::") for name in names(recorder))
