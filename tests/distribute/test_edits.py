"""What is edited, and where."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import npuify
from npuify.distribute.codes import CODES
from npuify.distribute.convert import ConversionOptions, distribute, is_refused
from npuify.model import NpuifyError, Safety, Severity
from tests.distribute.conversion import OPTIONS, convert, training

KEEP = ConversionOptions(entry="train.py", keep_global_batch=True)


@pytest.mark.parametrize(
    ("loader", "expected"),
    [
        ("DataLoader(data, 4, True)", "DataLoader(data, 4, sampler=npu_distributed.sampler(data, shuffle=True))"),
        ("DataLoader(data, 4)", "DataLoader(data, 4, sampler=npu_distributed.sampler(data, shuffle=False))"),
        (
            "DataLoader(data, shuffle=args.mix, drop_last=True)",
            "DataLoader(data, sampler=npu_distributed.sampler(data, shuffle=args.mix, drop_last=True), drop_last=True)",
        ),
        ("DataLoader(data, **options)", "npu_distributed.shard(DataLoader(data, **options))"),
        ("DataLoader(data, 4, True, None, None, 2)", "npu_distributed.shard(DataLoader(data, 4, True, None, None, 2))"),
        ("DataLoader(make(), batch_size=4)", "npu_distributed.shard(DataLoader(make(), batch_size=4))"),
        ("DataLoader(data, sampler=order)", "npu_distributed.shard(DataLoader(data, sampler=order))"),
        ("DataLoader(data, batch_sampler=order)", "npu_distributed.shard(DataLoader(data, batch_sampler=order))"),
    ],
)
def test_training_loaders_are_shared_out_in_their_own_order(tmp_path: Path, loader: str, expected: str) -> None:
    converted = convert(tmp_path, training(loader))
    assert converted.has(f"loader = {expected}"), converted.text
    assert converted.has("for epoch in range(3):", "npu_distributed.set_epoch(loader, epoch)")


def test_the_global_batch_is_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    converted = convert(tmp_path, training("DataLoader(data, batch_size=8, shuffle=True)"), KEEP)
    assert "DataLoader(data, batch_size=npu_distributed.per_card(8), sampler=" in converted.text
    converted = convert(tmp_path, training("DataLoader(data, **options)"), KEEP)
    assert "npu_distributed.shard(DataLoader(data, **options), keep_global_batch=True)" in converted.text


@pytest.mark.parametrize("rule", ["linear", "sqrt"])
def test_the_learning_rate_is_scaled_where_that_is_asked_for(tmp_path: Path, rule: str) -> None:
    converted = convert(tmp_path, training(), ConversionOptions(entry="train.py", scale_lr=rule))
    assert f'lr=npu_distributed.scaled_lr(0.1, "{rule}")' in converted.text
    assert "scaled_lr" not in convert(tmp_path, training()).text


@pytest.mark.parametrize(
    ("epochs", "call"),
    [
        ("for turn in range(3):", "npu_distributed.set_epoch(loader, turn)"),
        ("for turn, _ in enumerate(range(3)):", "npu_distributed.set_epoch(loader, turn)"),
        ("for name in names:", "npu_distributed.set_epoch(loader)"),
        ("while True:", "npu_distributed.set_epoch(loader)"),
    ],
)
def test_the_epoch_is_set_in_the_loop_around_whatever_it_is_called(tmp_path: Path, epochs: str, call: str) -> None:
    converted = convert(tmp_path, training(epochs=epochs))
    assert converted.has(epochs, call), converted.text


def test_a_loop_over_something_else_that_is_called_epoch_is_left_alone(tmp_path: Path) -> None:
    end = "for epoch in range(2):\n    print(epoch)"
    converted = convert(tmp_path, training(end=end))
    assert converted.text.count("set_epoch") == 1


def test_the_model_is_wrapped_after_it_is_moved_and_loaded_and_before_it_trains(tmp_path: Path) -> None:
    model = "model = nn.Linear(4, 2)\n    model.load_state_dict(torch.load('old.pt'))\n    model.cuda()"
    lines = [line.strip() for line in convert(tmp_path, training(model=model)).text.splitlines()]
    order = [
        "npu_distributed.setup()",
        "model = npu_distributed.wrap(model)",
        "for epoch in range(3):",
    ]
    places = [lines.index("model.npu()"), lines.index("optimizer = torch.optim.SGD(model.parameters(), lr=0.1)")]
    assert max(places) < lines.index(order[1]) < lines.index(order[2])
    assert "torch.load('old.pt', map_location=npu_distributed.device())" in "\n".join(lines)
    assert lines[lines.index('if __name__ == "__main__":') + 1] == order[0]


def test_models_of_an_object_and_of_functions_in_other_files(tmp_path: Path) -> None:
    engine = """
        from torch.utils.data import DataLoader

        class Engine:
            def __init__(self, network, data):
                self.network = network
                self.batches = DataLoader(data, batch_size=4, shuffle=True)

            def go(self, device, count):
                self.network.to(device)
                for number in range(count):
                    self.once(device)

            def once(self, device):
                for x, y in self.batches:
                    self.loss = (self.network(x.to(device)) - y.to(device)).pow(2).mean()
                    self.loss.backward()
        """
    program = """
        import torch
        from engine import Engine
        from nets import build
        from torch.utils.data import TensorDataset

        engine = Engine(build(), TensorDataset(torch.randn(8, 4), torch.randn(8, 2)))
        engine.go("cuda", 3)
        print(engine.loss.item())
        """
    nets = """
        from torch import nn

        def build():
            net = nn.Linear(4, 2)
            return net
        """
    converted = convert(tmp_path, program, engine=engine, nets=nets)
    text = converted.texts["engine.py"]
    assert "self.network.to(device)\n        self.network = npu_distributed.wrap(self.network)\n" in text
    assert "for number in range(count):\n            npu_distributed.set_epoch(self.batches, number)\n" in text
    assert "sampler=npu_distributed.sampler(data, shuffle=True)" in text
    assert "npu_distributed.setup()\nengine = Engine" in converted.text
    assert "nets.py" not in converted.texts


def test_wanted_and_unknown_models(tmp_path: Path) -> None:
    assert "wrap(model)" in convert(tmp_path, training(), ConversionOptions(entry="train.py", model="model")).text
    with pytest.raises(NpuifyError, match="no model named other"):
        convert(tmp_path, training(), ConversionOptions(entry="train.py", model="other"))


@pytest.mark.parametrize(
    ("forward", "unused"),
    [
        ("return self.b(self.a(x))", None),
        ("return self.a(x)", "forward does not use self.b"),
        ("if x.sum() > 0:\n    x = self.b(x)\nreturn self.a(x)", "forward uses self.b only if x.sum() > 0"),
        ("if self.deep:\n    x = self.b(x)\nreturn self.a(x)", None),
        ("x = self.a(x)\nif x.mean() > 0:\n    return x\nreturn self.b(x)", "forward uses self.b only if x.mean() > 0"),
    ],
)
def test_unused_parameters_are_told_of_where_the_control_flow_leaves_some(
    tmp_path: Path, forward: str, unused: str | None
) -> None:
    lines = [
        "class Net(nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
        "        self.deep = True",
    ]
    lines += ["        self.a = nn.Linear(4, 4)", "        self.b = nn.Linear(4, 4)", "    def forward(self, x):"]
    lines += [f"        {line}" for line in forward.splitlines()]
    converted = convert(tmp_path, training(imports="\n".join(lines), model="model = Net().cuda()"))
    if unused is None:
        assert "npu_distributed.wrap(model)" in converted.text
        assert "NPU352" not in converted.left
    else:
        assert "npu_distributed.wrap(model, find_unused_parameters=True)" in converted.text
        assert converted.left["NPU352"].message == f"find_unused_parameters=True: {unused}"
        assert converted.left["NPU352"].severity is Severity.INFO


def test_data_parallel_and_its_condition_go(tmp_path: Path) -> None:
    model = "model = nn.Linear(4, 2).cuda()\n    if torch.cuda.device_count() > 1:\n        print('several')\n"
    model += "        model = nn.DataParallel(model)"
    converted = convert(tmp_path, training(model=model))
    assert "DataParallel" not in converted.text
    assert "device_count" not in converted.text
    assert not [one for one in converted.result.left if one.code == "NPU310"]
    assert (
        "model = nn.Linear(4, 2).npu()"
        in convert(tmp_path, training(model="model = nn.DataParallel(nn.Linear(4, 2).cuda())")).text
    )


EVALUATION = """
model.eval()
right, answers = 0, []
with torch.no_grad():
    for number, (x, y) in enumerate({loader}):
        out = model(x.cuda())
        {body}
print(right / 16, answers{more})
"""


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("right += (out > 0).sum().item()", None),
        ("right += (out > 0).sum().item()\n        answers.append(out)", None),
        ("right = right + (out > 0).sum().item()", None),
        ("right += (out > 0).sum().item()\n        if number == 3: break", "the loop may end before its last batch"),
        ("answers.extend(out)", "what answers.extend() keeps cannot be combined again"),
        ("meter.update(out)", "what meter.update() keeps cannot be combined again"),
        ("right += out.sum().item() * right", "right is used inside the loop"),
        (
            "right += kept.sum().item() if number else 0\n        kept = out",
            "kept carries over from one batch to the next",
        ),
        ("right *= out.sum().item()", "right is not accumulated in a way that can be analyzed"),
    ],
)
def test_evaluation_is_shared_out_only_where_its_numbers_can_be_put_together(
    tmp_path: Path, body: str, why: str | None
) -> None:
    end = EVALUATION.format(loader="validation", body=body, more="")
    end = "validation = DataLoader(data, batch_size=4)\n" + end
    converted = convert(tmp_path, training(end=end))
    if why is None:
        assert "in enumerate(validation)" not in converted.text
        assert "in npu_distributed.numbered(validation)" in converted.text
        assert "right = npu_distributed.total(right)" in converted.text
        assert ("answers = npu_distributed.gathered(answers)" in converted.text) == ("append" in body)
    else:
        assert converted.left["NPU355"].message.endswith(why)
        assert converted.left["NPU355"].severity is Severity.INFO
        assert "in enumerate(validation)" in converted.text
        assert "total(" not in converted.text


def test_evaluation_with_gradients_is_not_shared_out(tmp_path: Path) -> None:
    end = EVALUATION.format(loader="validation", body="right += (out > 0).sum().item()", more="")
    end = "validation = DataLoader(data, batch_size=4)\n" + end.replace("with torch.no_grad():", "if True:")
    converted = convert(tmp_path, training(end=end))
    assert converted.left["NPU355"].message.endswith("it is not under torch.no_grad()")


def test_losses_are_means_over_the_processes(tmp_path: Path) -> None:
    step = """\
        loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        running += loss.item()
        if step % 10 == 0:
            print(loss.item())
        if x.sum() > 0:
            print(loss.item())"""
    converted = convert(tmp_path, training(step=step))
    assert converted.has("running += npu_distributed.mean(loss)")
    assert converted.has("if step % 10 == 0:", "print(npu_distributed.mean(loss))")
    # Not every process comes by there: one that asked for a mean would wait for the others for ever.
    assert converted.has("if x.sum() > 0:", "print(loss.item())")
    line = converted.text.splitlines()[converted.left["NPU358"].start.line - 1]
    assert line.strip() == "print(loss.item())"


def test_a_mean_is_never_asked_for_by_rank_0_alone(tmp_path: Path) -> None:
    step = """\
        loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        with open("log.txt", "a") as log:
            log.write(f"{loss.item()}")"""
    converted = convert(tmp_path, training(step=step))
    assert converted.has('with open(npu_distributed.only_main("log.txt"), "a") as log:')
    assert "npu_distributed.mean(loss)" in converted.text
    assert "is_main" not in converted.text


def test_accumulated_gradients_are_gathered_once(tmp_path: Path) -> None:
    step = """\
        with torch.autocast("cuda"):
            loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
        (loss / 2).backward()
        if (step + 1) % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()"""
    converted = convert(tmp_path, training(step=step))
    assert converted.has(
        "with npu_distributed.no_sync(model, until=(step + 1) % 2 == 0):",
        'with torch.autocast("npu"):',
    )
    ast.parse(converted.text)
    counted = step.replace("(step + 1)", "count").replace("if count", "count += 1\n        if count")
    assert "NPU359" in convert(tmp_path, training(step=counted)).left
    assert "no_sync" not in convert(tmp_path, training()).text


def test_rank_0_alone_saves_writes_and_shows(tmp_path: Path) -> None:
    end = '''\
        torch.save(model.state_dict(), "model.pt")
        torch.save(model, "whole.pt")
        os.makedirs("out")
        os.mkdir("more")
        with open("notes.txt", "w") as file:
            file.write("""
        kept as it is
        """)
        for _ in tqdm(range(3)):
            writer.add_scalar("x", 1)
        data = CIFAR10("data", download=True)
        state = torch.load("model.pt")'''
    imports = "import os\nfrom tqdm import tqdm\nfrom torch.utils.tensorboard import SummaryWriter\n"
    imports += "from torchvision.datasets import CIFAR10\nwriter = SummaryWriter()"
    converted = convert(tmp_path, training(imports=imports, end=end))
    main = "if npu_distributed.is_main():"
    assert converted.has(main, 'torch.save(model.state_dict(), "model.pt")')
    assert converted.has(main, 'torch.save(npu_distributed.unwrap(model), "whole.pt")')
    assert converted.has('os.makedirs("out", exist_ok=True)', 'os.makedirs("more", exist_ok=True)')
    assert converted.has(main, 'with open("notes.txt", "w") as file:')
    assert "\n    kept as it is\n" in converted.text
    assert "tqdm(range(3), disable=not npu_distributed.is_main())" in converted.text
    assert "writer = (SummaryWriter() if npu_distributed.is_main() else npu_distributed.Silent())" in converted.text
    assert converted.has("with npu_distributed.main_first():", 'data = CIFAR10("data", download=True)')
    assert converted.has(
        "npu_distributed.barrier()", 'state = torch.load("model.pt", map_location=npu_distributed.device())'
    )


def test_cards_chosen_by_number(tmp_path: Path) -> None:
    model = 'torch.cuda.set_device(args.gpu)\n    device = torch.device("cuda:0")\n    model = nn.Linear(4, 2).cuda(args.gpu)'
    converted = convert(tmp_path, training(model=model))
    assert converted.has(
        "torch.npu.set_device(npu_distributed.card(args.gpu))",
        'device = torch.device("npu")',
        "model = nn.Linear(4, 2).npu(npu_distributed.card(args.gpu))",
    )


def test_nothing_is_put_beside_a_statement_that_shares_its_line(tmp_path: Path) -> None:
    converted = convert(tmp_path, training(end='x = 1; torch.save(model.state_dict(), "model.pt")'))
    assert 'x = 1; torch.save(model.state_dict(), "model.pt")' in converted.text
    assert converted.left["NPU356"].safety is Safety.MANUAL


def test_data_that_cannot_be_shared_out_from_outside(tmp_path: Path) -> None:
    imports = "class Stream(torch.utils.data.IterableDataset):\n    def __iter__(self):\n"
    imports += "        for line in open('x'):\n            yield line\n"
    converted = convert(tmp_path, training("DataLoader(Stream(), batch_size=4)", imports=imports))
    text = "for line in itertools.islice(open('x'), npu_distributed.rank(), None, npu_distributed.world_size()):"
    left = converted.left["NPU353"]
    assert text in left.advice
    assert converted.text.splitlines()[left.start.line - 1].strip() == "for line in open('x'):"
    assert "loader = DataLoader(Stream(), batch_size=4)" in converted.text
    assert "set_epoch" not in converted.text
    program = """
        import torch
        from torch import nn
        model = nn.Linear(4, 2).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(10):
            x, y = torch.randn(8, 4), torch.randn(8, 2)
            loss = (model(x.cuda()) - y.cuda()).pow(2).mean()
            loss.backward()
            optimizer.step()
        """
    converted = convert(tmp_path / "by-hand", program)
    left = converted.left["NPU353"]
    assert converted.text.splitlines()[left.start.line - 1].strip().startswith("x, y = ")
    assert "after it: x, y = npu_distributed.own_part(x, y)" in left.advice
    assert "npu_distributed.setup(same_random_numbers=True)" in converted.text


def test_a_copy_is_written_whole_with_the_helper_module_beside_the_entry_point(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "tools").mkdir(parents=True)
    (source / "tools" / "train.py").write_text(training())
    result = distribute(source, target, ConversionOptions(entry="tools/train.py"), OPTIONS)
    assert (target / "tools" / "npu_distributed.py").is_file()
    assert (target / "npuify-report").is_dir()
    assert "tools/npu_distributed.py" in result.changed_files
    assert (source / "tools" / "train.py").read_text() == training()
    again = distribute(target, tmp_path / "again", ConversionOptions(entry="tools/train.py"), OPTIONS)
    assert is_refused(again)
    assert not (tmp_path / "again").exists()


def test_a_model_that_comes_by_import_star(tmp_path: Path) -> None:
    program = training(imports="from models import *", model="model = Net().cuda()")
    parts = "from torch import nn\n"
    models = "from parts import *\nclass Net(nn.Module):\n    pass\n"
    converted = convert(tmp_path, program, parts=parts, models=models)
    assert "model = npu_distributed.wrap(model)" in converted.text
    assert "NPU351" not in converted.left


def test_modules_that_import_a_name_from_each_other(tmp_path: Path) -> None:
    program = training(imports="from first import *", model="model = Net().cuda()")
    converted = convert(tmp_path, program, first="from second import Net\n", second="from first import *\n")
    assert "model = npu_distributed.wrap(model)" in converted.text  # its parameters are what the optimizer gets


def test_models_in_a_list_are_wrapped_each(tmp_path: Path) -> None:
    step = """\
        for one, optimizer in zip(models, optimizers):
            loss = nn.functional.mse_loss(one(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()"""
    model = "models = [nn.Linear(4, 2).cuda() for _ in range(3)]"
    program = training(model=model, step=step).replace(
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)",
        "optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in models]",
    )
    converted = convert(tmp_path, program)
    assert converted.has("models = [npu_distributed.wrap(one) for one in models]", "for epoch in range(3):")
    # Parts of a ModuleList cannot be replaced: its own parameters() would be those of the wrappers.
    converted = convert(
        tmp_path / "list",
        program.replace("= [nn.Linear(4, 2).cuda() for _ in range(3)]", "= nn.ModuleList([nn.Linear(4, 2)])"),
    )
    assert "npu_distributed.wrap" not in converted.text
    assert "NPU351" in converted.left


def test_data_parallel_gives_way_to_the_model_itself(tmp_path: Path) -> None:
    model = "model = nn.Linear(4, 2)\n    model = nn.DataParallel(model, device_ids=[0, 1]).cuda()\n    "
    model += "model.module.load_state_dict(torch.load('old.pt'))"
    converted = convert(tmp_path, training(model=model, end="torch.save(model.module.state_dict(), 'model.pt')"))
    assert converted.has(
        "model = nn.Linear(4, 2)",
        "model = model.npu()",
        "model.load_state_dict(torch.load('old.pt', map_location=npu_distributed.device()))",
    )
    assert "torch.save(model.state_dict(), 'model.pt')" in converted.text
    assert "under DataParallel it was the total batch of all cards" in converted.left["NPU360"].message


def test_data_that_is_loaded_stays_on_the_cpu(tmp_path: Path) -> None:
    imports = "class Files(torch.utils.data.Dataset):\n    def __getitem__(self, i):\n        return read(i)\n"
    imports += "def read(i):\n    return torch.load(i).numpy()\n"
    imports += "def restore(model):\n    state = torch.load('old.pt')\n    model.load_state_dict(state['model'])\n"
    converted = convert(tmp_path, training(imports=imports, end="restore(model)"))
    assert "return torch.load(i).numpy()" in converted.text
    assert "state = torch.load('old.pt', map_location=npu_distributed.device())" in converted.text


def test_lines_at_one_place_keep_their_order(tmp_path: Path) -> None:
    program = """\
        import os
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"
        data = TensorDataset(torch.randn(16, 4), torch.randn(16, 2))
        loader, validation = DataLoader(data, 4, True), DataLoader(data, 4)
        model = nn.Linear(4, 2).cuda()
        def test():
            right = 0
            with torch.no_grad():
                for x, y in validation:
                    right += (model(x.cuda()) > 0).sum().item()
            return right
        for epoch in range(2):
            right = 0
            if epoch:
                with torch.no_grad():
                    for x, y in validation:
                        right += (model(x.cuda()) > 0).sum().item()
            for x, y in loader:
                model(x.cuda()).mean().backward()
        """
    converted = convert(tmp_path, program)
    ast.parse(converted.text)
    assert converted.has(
        "import npu_distributed",
        'if "LOCAL_RANK" not in os.environ:',
        'os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "0"',
        "npu_distributed.setup()",
    )
    below = converted.text.splitlines()[converted.text.splitlines().index("def test():") + 5 :]
    assert below[:2] == ["        right = npu_distributed.total(right)", "    return right"]


def test_counts_that_are_shown_while_training_are_those_of_all_cards(tmp_path: Path) -> None:
    step = """\
        out = model(x.cuda())
        loss = nn.functional.mse_loss(out, y.cuda())
        loss.backward()
        right += (out > 0).sum().item()
        print(f"[{step * len(x)}/{len(data)}] right {right}")"""
    epochs = "right = 0\n    for epoch in range(3):"
    converted = convert(tmp_path, training(step=step, epochs=epochs))
    assert "right += npu_distributed.total((out > 0).sum().item())" in converted.text
    assert "{step * len(x) * npu_distributed.world_size()}" in converted.text
    used = step.replace('print(f"[', 'scale = right / 2\n        print(f"[')
    assert "total(" not in convert(tmp_path / "used", training(step=used, epochs=epochs)).text


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_line_ends_stay(tmp_path: Path, ends: str) -> None:
    (tmp_path / "train.py").write_bytes(training().replace("\n", ends).encode())
    distribute(tmp_path / "train.py", tmp_path / "out", ConversionOptions(entry="train.py"), OPTIONS)
    data = (tmp_path / "out" / "train.py").read_bytes()
    assert data.count(b"\r\n") == (data.count(b"\n") if ends == "\r\n" else 0)


def test_every_code_is_explained() -> None:
    for code, known in CODES.items():
        answer = npuify.explain(code.lower())
        assert answer.title == f"{code} {known.name}"
        assert known.summary in answer.text
        assert len(answer.text) > 2
        assert npuify.explain(known.name) == answer


def test_an_iterator_that_is_made_anew_does_not_hide_the_loss(tmp_path: Path) -> None:
    program = """\
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        loader = DataLoader(TensorDataset(torch.randn(16, 4)), 4, True)
        model = nn.Linear(4, 2).cuda()
        batches = iter(loader)
        for step in range(20):
            if (step + 1) % len(loader) == 0:
                batches = iter(loader)
            (x,) = next(batches)
            loss = model(x.cuda()).mean()
            loss.backward()
            if (step + 1) % 10 == 0:
                print(loss.item())
        """
    converted = convert(tmp_path, program)
    assert converted.has("if (step + 1) % 10 == 0:", "print(npu_distributed.mean(loss))")
    assert converted.text.count("npu_distributed.set_epoch(loader)") == 2


@pytest.mark.parametrize(
    "written",
    [
        'torch.save({"right": test(model, validation)}, "x.pt")',
        'torch.save(sample(model), "x.pt")',
        'torch.save(model(torch.ones(4).cuda()), "x.pt")',
    ],
)
def test_what_all_processes_take_part_in_never_runs_on_rank_0_alone(tmp_path: Path, written: str) -> None:
    imports = """
def test(model, loader):
    right = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x.cuda()) > 0).sum().item()
    return right

def sample(model):
    model.eval()
    return 1"""
    end = f'validation = DataLoader(data, batch_size=4)\n{written}\nwith open("x.txt", "w") as file:\n'
    end += "    file.write(str(test(model, validation)))"
    converted = convert(tmp_path, training(imports=imports, end=end))
    assert "is_main" not in converted.text
    assert converted.has('with open(npu_distributed.only_main("x.txt"), "w") as file:')
    assert "right = npu_distributed.total(right)" in converted.text
    line = converted.text.splitlines()[converted.left["NPU356"].start.line - 1]
    assert line.strip().startswith("torch.save(")


def test_conditions_about_a_loss_come_out_alike(tmp_path: Path) -> None:
    step = """\
        loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
        if torch.isnan(loss) or loss > 1e4:
            continue
        if loss is None:
            continue
        if loss.item() > 9:
            break
        loss.backward()
        optimizer.step()"""
    converted = convert(tmp_path, training(step=step))
    assert converted.has("if torch.isnan(npu_distributed.agreed(loss)) or npu_distributed.agreed(loss) > 1e4:")
    assert converted.has("if loss is None:")
    assert converted.has("if npu_distributed.mean(loss) > 9:")


def test_an_evaluation_that_not_all_may_come_by_is_not_shared_out(tmp_path: Path) -> None:
    imports = """
import time

def test(model, loader):
    right = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x.cuda()) > 0).sum().item()
    return right"""
    end = "validation = DataLoader(data, batch_size=4)\nif time.time() > 5:\n    test(model, validation)"
    converted = convert(tmp_path, training(imports=imports, end=end))
    assert "my_batches" not in converted.text
    assert "time.time() > 5 may differ" in converted.left["NPU355"].message


def test_a_mean_is_not_asked_for_where_the_batch_decides(tmp_path: Path) -> None:
    step = """\
        out = model(x.cuda())
        loss = nn.functional.mse_loss(out, y.cuda())
        loss.backward()
        optimizer.step()
        right = (out > 0).sum().item()
        share = right / len(x)
        if share > 0.5:
            print(loss.item())
        if loss > 0.5:
            print(loss.item())
        if step % x.size(0) == 0:
            print(loss.item())"""
    converted = convert(tmp_path, training(step=step))
    assert converted.has("if share > 0.5:", "print(loss.item())")
    assert converted.has("if npu_distributed.agreed(loss) > 0.5:", "print(npu_distributed.mean(loss))")
    assert converted.has("if step % x.size(0) == 0:", "print(npu_distributed.mean(loss))")


@pytest.mark.parametrize(
    "loss",
    [
        "loss = 0\nfor head in heads:\n    loss += mse(head(model(x.cuda())), y.cuda())\nloss /= len(heads)",
        "loss = 0.0\nfor head in heads:\n    loss += mse(head(model(x.cuda())), y.cuda())",
        "loss = mse(model(x.cuda()), y.cuda())\nloss += 0.4 * model.weight.pow(2).sum()",
        "penalty = model.weight.pow(2).sum()\nloss = mse(model(x.cuda()), y.cuda())\nloss += 0.4 * penalty",
        "part = 0\npart += mse(model(x.cuda()), y.cuda())\nloss = part / 2",
        "parts = {'all': 0}\nwhole = 0\nwhole += mse(model(x.cuda()), y.cuda())\nparts['all'] = whole\nloss = parts['all']",
        "count = 0\ncount += x.size(0)\nloss = mse(model(x.cuda()), y.cuda()) / count",
        "loss, right = step_of(model, x, y)",
    ],
)
@pytest.mark.parametrize("end", ["loss.backward()", "scaler.scale(loss).backward()", "accelerate(loss)"])
def test_what_reaches_backward_is_never_reduced(tmp_path: Path, loss: str, end: str) -> None:
    imports = """
mse, heads = nn.functional.mse_loss, [nn.Linear(2, 2)]
scaler = torch.cuda.amp.GradScaler()

def step_of(model, x, y):
    total, right = 0, 0
    for part, wanted in zip(x, y):
        out = model(part.cuda())
        total += mse(out, wanted.cuda())
        right += (out > 0).sum().item()
    return total, right

def accelerate(whole):
    whole.backward()"""
    step = f"optimizer.zero_grad()\n{loss}\n{end}\noptimizer.step()\nprint(loss.item())"
    converted = convert(tmp_path, training(imports=imports, step=step, end="print(loss)"))
    assert "total(" not in converted.text
    assert "gathered(" not in converted.text
    assert "print(npu_distributed.mean(loss))" in converted.text or end == "accelerate(loss)"


def test_a_sum_over_an_evaluation_that_is_learnt_from_is_not_reduced(tmp_path: Path) -> None:
    end = """
validation = DataLoader(data, batch_size=4)
whole = 0
for x, y in validation:
    whole += model.distance(x.cuda())
whole.backward()"""
    imports = "class Net(nn.Linear):\n    def distance(self, x):\n        return self(x).mean()"
    converted = convert(tmp_path, training(imports=imports, model="model = Net(4, 2).cuda()", end=end))
    assert "total(" not in converted.text
    assert converted.left["NPU355"].message.endswith("whole is what backward() is called of")


TQDM = "from tqdm import tqdm"
LOOPS = {
    "a name": "bar = tqdm(loader)\n        for x, y in bar:",
    "tqdm(enumerate)": "for step, (x, y) in tqdm(enumerate(loader)):",
    "enumerate behind a name": "bar = tqdm(enumerate(loader), total=len(loader))\n        for step, (x, y) in bar:",
    "two names": "numbered = enumerate(loader)\n        bar = tqdm(numbered)\n        for step, (x, y) in bar:",
    "with": "with tqdm(loader) as bar:\n          for x, y in bar:",
    "a generator": "for x, y in moved(loader):",
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_a_loader_behind_names_progress_bars_and_generators(tmp_path: Path, loop: str) -> None:
    imports = f"{TQDM}\ndef moved(batches):\n    for x, y in batches:\n        yield x.cuda(), y.cuda()\n"
    program = training(imports=imports).replace("for step, (x, y) in enumerate(loader):", loop)
    converted = convert(tmp_path, program)
    assert "sampler=npu_distributed.sampler(data, shuffle=True)" in converted.text
    assert converted.has("for epoch in range(3):", "npu_distributed.set_epoch(loader, epoch)"), converted.text
    assert "NPU353" not in converted.left
    assert "same_random_numbers" not in converted.text


def test_a_loader_behind_a_name_of_another_function(tmp_path: Path) -> None:
    imports = f"""{TQDM}

def once(bar, model):
    for x, y in bar:
        nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
"""
    program = training(imports=imports, end="for turn in range(2):\n    once(tqdm(loader), model)")
    program = program.replace("for step, (x, y) in enumerate(loader):", "for _ in ():")
    converted = convert(tmp_path, program)
    assert "sampler=npu_distributed.sampler(data, shuffle=True)" in converted.text
    assert converted.has("for turn in range(2):", "npu_distributed.set_epoch(loader, turn)")


def test_loaders_of_a_dictionary_that_is_made_in_one_go(tmp_path: Path) -> None:
    loader = "{name: DataLoader(parts[name], batch_size=4, shuffle=True) for name in ('train', 'test')}"
    imports = "parts = {'train': [1], 'test': [2]}"
    program = training(loader, imports=imports).replace("enumerate(loader)", "enumerate(loader['train'])")
    converted = convert(tmp_path, program)
    assert "sampler=npu_distributed.sampler(parts[name], shuffle=True)" in converted.text
    assert converted.has("for epoch in range(3):", "npu_distributed.set_epoch(loader['train'], epoch)")
    phases = training(loader, imports=imports).replace(
        "for step, (x, y) in enumerate(loader):",
        "for phase in loader:\n         for x, y in loader[phase]:",
    )
    converted = convert(tmp_path / "phases", phases)
    assert "sampler=npu_distributed.sampler(parts[name], shuffle=True)" in converted.text
    assert "npu_distributed.set_epoch(loader[phase])" in converted.text


def test_loaders_side_by_side_are_all_shared_out(tmp_path: Path) -> None:
    program = training(imports="some = [1]\nother = DataLoader(some, batch_size=4, shuffle=True)").replace(
        "for step, (x, y) in enumerate(loader):", "for step, ((x, y), _) in enumerate(zip(loader, other)):"
    )
    converted = convert(tmp_path, program)
    assert converted.text.count("sampler=npu_distributed.sampler(") == 2
    assert "npu_distributed.set_epoch(loader, epoch)" in converted.text
    assert "npu_distributed.set_epoch(other, epoch)" in converted.text


@pytest.mark.parametrize("loop", ["zip(validation, names)", "islice(validation, 2)", "bar"])
def test_an_evaluation_of_part_of_a_loader_is_done_by_each_process(tmp_path: Path, loop: str) -> None:
    head = f"for (x, y), _ in {loop}:" if loop.startswith("zip") else f"for x, y in {loop}:"
    end = f"""
validation = DataLoader(data, batch_size=4)
bar = tqdm(validation)
right = 0
with torch.no_grad():
    {head}
        right += (model(x.cuda()) > 0).sum().item()"""
    imports = f"{TQDM}\nfrom itertools import islice\nnames = ['a', 'b']"
    converted = convert(tmp_path, training(imports=imports, end=end))
    assert converted.left["NPU355"].message.endswith("its batches do not come straight from one loader")
    assert "my_batches" not in converted.text


def test_the_number_of_a_batch_is_alike_everywhere_behind_a_progress_bar(tmp_path: Path) -> None:
    program = (
        training()
        .replace("enumerate(loader)", "tqdm(enumerate(loader))")
        .replace(
            "            optimizer.step()",
            "            optimizer.step()\n            if step % 10 == 0:\n                print(loss.item())",
        )
    )
    converted = convert(tmp_path, program.replace("from torch import nn", f"from torch import nn\n{TQDM}"))
    assert converted.has("if step % 10 == 0:", "print(npu_distributed.mean(loss))")


MADE = {
    "by name of a module": "getattr(nets, args.net)()",
    "by name of a package": "models.__dict__[args.net]()",
    "by a package": "smp.Unet()",
    "by a registry": "build(args).to('cuda')",
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
@pytest.mark.parametrize("wanted", ["", "model"])
def test_a_model_of_which_only_its_use_is_known(tmp_path: Path, made: str, wanted: str) -> None:
    imports = "import nets\nimport models\nimport segmentation_models_pytorch as smp\nfrom registry import build\n"
    program = training(imports=imports, model=f"model = {made}\n    model.train()")
    options = ConversionOptions(entry="train.py", model=wanted)
    modules = {"nets": "from torch import nn\nclass Net(nn.Module):\n    pass\n", "models": "from nets import Net\n"}
    converted = convert(tmp_path, program, options, **modules)
    assert converted.has("model = npu_distributed.wrap(model)"), converted.text
    assert "NPU351" not in converted.left


def test_a_model_of_which_only_its_use_is_known_through_functions_and_attributes(tmp_path: Path) -> None:
    imports = """
import segmentation_models_pytorch as smp

class Trainer:
    def __init__(self, network, criterion):
        self.network = network
        self.criterion = criterion

    def step(self, x, y):
        self.criterion(self.network(x), y).backward()
"""
    program = training(
        imports=imports,
        model="model = smp.Unet()\n    trainer = Trainer(model.cuda(), smp.losses.DiceLoss())",
        step="trainer.step(x.cuda(), y.cuda())\noptimizer.step()",
    )
    converted = convert(tmp_path, program)
    assert converted.has("self.network = network", "self.network = npu_distributed.wrap(self.network)")
    assert converted.text.count("npu_distributed.wrap(") == 1


def test_what_is_only_called_is_no_model(tmp_path: Path) -> None:
    imports = "from somewhere import distort, args\n"
    step = """\
        loss = nn.functional.mse_loss(model(distort(x).cuda()), y.cuda()) + args.penalty(x)
        loss.backward()
        optimizer.step()"""
    assert convert(tmp_path, training(imports=imports, step=step)).text.count("npu_distributed.wrap(") == 1
    converted = convert(tmp_path / "alone", training(imports=imports, step=step.replace("model(", "args.net(")))
    assert "npu_distributed.wrap(" not in converted.text
    assert "NPU351" in converted.left
