"""Devices out of configurations: records, options, files, names and texts that are put together in less common ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .programs import Draft


def of_record(d: Draft) -> str:
    """Nested dataclasses, named tuples, merged dictionaries."""
    name = d.new("Conf")
    form = d.random.randrange(6)
    if form < 3:
        d.use("import dataclasses")
        d.use("from dataclasses import dataclass, field")
        inner = d.new("Train")
        d.top += [
            "@dataclass",
            f"class {inner}:",
            f"    device: str = {d.one(repr('cuda'), repr('cuda:0'), repr('cuda:1'))}",
            "    steps: int = 3",
            "",
            "@dataclass",
            f"class {name}:",
            f"    train: {inner} = field(default_factory={inner})",
            "    name: str = 'cuda-run'",
            "",
        ]
        return d.one(
            f"{name}().train.device",
            f"dataclasses.asdict({name}())['train']['device']",
            f"dataclasses.replace({inner}(), device='cuda:1').device",
            f"{inner}(**{{'device': 'cuda'}}).device",
            f"getattr({name}().train, 'device')",
            f"vars({inner}())['device']",
        )
    if form == 3:
        d.use("from collections import namedtuple")
        d.top.append(f"{name} = namedtuple('{name}', 'kind index', defaults=('cuda', 0))")
        return d.one(
            f"f'{{{name}().kind}}:{{{name}().index}}'",
            f"{name}().kind",
            f"{name}('cuda', 1).kind",
            f"{name}()._replace(kind='cuda:1').kind",
            f"'%s:%d' % {name}()",
        )
    if form == 4:
        d.use("from collections import ChainMap")
        d.body.append(f"{name} = ChainMap({{}}, {{'device': 'cuda'}})")
        return d.one(f"{name}['device']", f"{name}.get('device', 'cpu')")
    d.top += [f"{name} = {{'device': 'cpu', 'steps': 1}}", f"{name}.update(device='cuda')"]
    return d.one(f"{name}['device']", f"{{**{name}, 'steps': 2}}['device']", f"dict({name}).get('device')")


def of_command(d: Draft) -> str:
    """Options with constants, subcommands, parents, converters; handed on as keywords."""
    d.use("import argparse")
    name = d.new("cli")
    form = d.random.randrange(7)
    if form == 0:
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"{name}.add_argument('--gpu', dest='device', action='store_const', const='cuda', default='cpu')",
        ]
        return f"{name}.parse_args(['--gpu']).device"
    if form == 1:
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"{name}_run = {name}.add_subparsers(dest='command').add_parser('run')",
            f"{name}_run.add_argument('--device', default='cuda')",
        ]
        return f"{name}.parse_args(['run']).device"
    if form == 2:
        d.body += [
            f"{name}_common = argparse.ArgumentParser(add_help=False)",
            f"{name}_common.add_argument('--device', default='cuda:1')",
            f"{name} = argparse.ArgumentParser(parents=[{name}_common])",
        ]
        return f"{name}.parse_args([]).device"
    if form == 3:
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"{name}.add_argument('--device', type=str.lower, default='CUDA', choices=['cuda', 'cpu'])",
        ]
        return f"{name}.parse_args([]).device"
    if form == 4:
        d.top += [f"def {name}_main(device='cpu', steps=1):", "    return device", ""]
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"{name}.add_argument('--device', default='cuda')",
            f"{name}.add_argument('--steps', type=int, default=2)",
        ]
        return f"{name}_main(**vars({name}.parse_args([])))"
    if form == 5:
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"{name}.add_argument('--devices', nargs='+', default=['cuda:0', 'cuda:1'])",
        ]
        return d.one(f"{name}.parse_args([]).devices[1]", f"{name}.parse_args(['--devices', 'cuda']).devices[0]")
    d.body += [
        f"{name} = argparse.ArgumentParser()",
        f"{name}.add_argument('--gpus', default='0,1')",
        f"{name}.add_argument('--kind', nargs='?', const='cuda', default='cuda')",
        f"{name}_args = {name}.parse_args([])",
    ]
    return d.one(
        f"{name}_args.kind",
        f"f'{{{name}_args.kind}}:{{{name}_args.gpus.split(chr(44))[0]}}'",
        f"'cuda:' + {name}_args.gpus.split(',')[-1]",
    )


def of_settings(d: Draft) -> str:
    """Files of settings that are merged with defaults, nested, or read by a class."""
    d.use("from pathlib import Path")
    name, file = d.new("Settings"), d.new("base")
    form = d.random.randrange(5)
    if form == 0:
        d.use("import json")
        d.files[f"{file}.json"] = '{"train": {"devices": ["cuda:0", "cuda:1"]}, "out": "runs/cuda"}\n'
        d.body.append(f"{name} = json.load(open(Path(__file__).with_name('{file}.json')))")
        return d.one(f"{name}['train']['devices'][1]", f"{name}['train']['devices'][0]")
    if form == 1:
        d.use("import json")
        d.files[f"conf/{file}.json"] = '{"device": "cuda"}\n'
        d.top += [
            f"class {name}:",
            "    def __init__(self, path):",
            "        self.__dict__.update(json.loads(Path(path).read_text()))",
            "",
        ]
        return f"{name}(Path(__file__).parent / 'conf' / '{file}.json').device"
    if form == 2:
        d.use("import tomllib")
        d.files[f"{file}.toml"] = '[run]\ndevice = "cuda:1"\nsteps = 2\n'
        d.body.append(f"{name} = tomllib.loads(Path(__file__).with_name('{file}.toml').read_text())")
        return f"{name}['run']['device']"
    if form == 3:
        d.use("import yaml")
        d.files[f"{file}.yaml"] = "common: &common\n  device: cuda\ntrain:\n  <<: *common\n  steps: 3\n"
        d.top += [
            f"def {name.lower()}(name):",
            "    return yaml.safe_load(Path(__file__).with_name(name).read_text())",
            "",
        ]
        return f"{name.lower()}('{file}.yaml')['train']['device']"
    d.use("import json")
    d.files[f"{file}.json"] = '{"steps": 3}\n'
    d.body.append(f"{name} = {{'device': 'cuda', **json.loads(Path(__file__).with_name('{file}.json').read_text())}}")
    return f"{name}['device']"


def of_texts(d: Draft) -> str:
    """Text that is put together by other means."""
    name = d.new("said")
    value = d.one(
        "'cuda' + (':1' if True else '')",
        "'cu' 'da'",
        "'%(kind)s:%(index)d' % {'kind': 'cuda', 'index': 0}",
        "'{0}:{1}'.format('cuda', 1)",
        "'{kind}'.format_map({'kind': 'cuda'})",
        "string.Template('$kind:0').substitute(kind='cuda')",
        "f\"{'cuda'}:{0}\"",
        "f\"{'cuda'!s}\"",
        "str('cuda')",
        "'cuda:0'.removesuffix(':0')",
        "'Cuda'.casefold()",
        "'cuda_0'.replace('_', ':')",
        "':'.join(('cuda', '0'))",
        "['cuda', 'cpu'].__getitem__(0)",
        "{'cuda'}.pop()",
        "(lambda kind='cuda': kind)()",
        "'cpu,cuda'.rsplit(',', 1)[-1]",
        "next(kind for kind in ('cpu', 'cuda') if kind != 'cpu')",
        "next(filter(lambda kind: kind.startswith('cu'), ['cpu', 'cuda']))",
        "dict.fromkeys(['cuda', 'cpu']).popitem()[0].replace('cpu', 'cuda')",
        "list({'cuda': 0, 'cpu': 1})[0]",
        "min({'cuda': 0, 'cpu': 1}.items(), key=lambda item: item[1])[0]",
        "functools.reduce(lambda a, b: a + b, ['cuda', ':', '1'])",
    )
    if value.startswith("string."):
        d.use("import string")
    if value.startswith("functools."):
        d.use("import functools")
    (d.top if d.random.random() < 0.3 else d.body).append(f"{name} = {value}")
    return name


def of_statements(d: Draft) -> str:
    """Loops, star targets, augmented and deleted names, tries, closures."""
    name = d.new("where")
    form = d.random.randrange(9)
    if form == 0:
        d.body += [f"{name}, *_ = ['cuda', 'cpu']"]
    elif form == 1:
        d.body += [f"{name} = 'cuda'", f"{name} += {d.one(repr(':0'), repr(':1'))}"]
    elif form == 2:
        d.body += [
            "try:",
            f"    {d.torch}.zeros(1, device='cuda')",
            f"    {name} = 'cuda'",
            "except (RuntimeError, AssertionError):",
            f"    {name} = 'cpu'",
        ]
    elif form == 3:
        d.body += [f"for {name} in ('cpu', 'cuda'):", "    pass"]
    elif form == 4:
        d.top += [
            f"def {name}_of():",
            "    kind = 'cpu'",
            "",
            "    def change():",
            "        nonlocal kind",
            "        kind = 'cuda'",
            "",
            "    change()",
            "    return kind",
            "",
        ]
        return f"{name}_of()"
    elif form == 5:
        d.body += [
            f"{name} = None",
            f"if {name} is None and {d.torch}.cuda.is_available():",
            f"    {name} = 'cuda'",
            f"elif {name} is None:",
            f"    {name} = 'cpu'",
        ]
    elif form == 6:
        d.body += [
            f"{name} = [f'cuda:{{i}}' for i in range({d.torch}.cuda.device_count())]",
            f"{name} = {name}[0] if {name} else 'cpu'",
        ]
    elif form == 7:
        d.body += [f"if True:\n    {name}: str = 'cuda'\nelse:\n    {name} = 'cpu'"]
    else:
        d.body += [f"({name},) = (kind for kind in ['cuda'])"]
    return name


def of_torch(d: Draft) -> str:
    """``torch.device`` by other names and with other arguments."""
    name = d.new("Dev")
    form = d.random.randrange(8)
    if form == 0:
        d.top.append(f"{name} = {d.torch}.device")
        return d.one(f"{name}('cuda')", f"{name}('cuda', 1)", f"{name}(type='cuda')")
    if form == 1:
        d.use("from torch import device as TorchDevice")
        return d.one("TorchDevice('cuda')", "TorchDevice('cuda:1')")
    if form == 2:
        d.use("from functools import partial")
        d.top.append(f"{name} = partial({d.torch}.device, 'cuda')")
        return d.one(f"{name}()", f"{name}(1)")
    if form == 3:
        return d.one(
            f"{d.torch}.device(**{{'type': 'cuda', 'index': 0}})",
            f"{d.torch}.device(*('cuda', 1))",
            f"{d.torch}.device({d.torch}.device('cuda'))",
            f"{d.torch}.device('cuda', {d.torch}.cuda.current_device())",
            f"{d.torch}.device(f'cuda:{{{d.torch}.cuda.current_device()}}')",
        )
    if form == 4:
        d.top += [
            f"def {name.lower()}(device: 'str | torch.device | int | None' = None):",
            "    if device is None:",
            "        device = 'cuda'",
            "    if isinstance(device, int):",
            "        device = f'cuda:{device}'",
            "    if isinstance(device, str):",
            f"        device = {d.torch}.device(device)",
            "    return device",
            "",
        ]
        return d.one(f"{name.lower()}()", f"{name.lower()}(1)", f"{name.lower()}('cuda')")
    if form == 5:
        return d.one(
            f"{d.torch}.ones(1).cuda().device",
            f"{d.torch}.ones(1, device='cuda:1').device",
            f"{d.torch}.nn.Linear(1, 1).cuda().weight.device",
            f"next({d.torch}.nn.Linear(1, 1).to('cuda').parameters()).device",
        )
    if form == 6:
        d.top.append(f"{name.upper()}S = [{d.torch}.device('cuda', i) for i in range({d.torch}.cuda.device_count())]")
        return f"{name.upper()}S[{d.one('0', '1', '-1')}]"
    d.use("from typing import Final")
    d.top.append(f"{name.upper()}: Final = {d.torch}.device('cuda' if {d.torch}.cuda.is_available() else 'cpu')")
    return f"{name.upper()}"


def of_names(d: Draft) -> str:
    """Attributes of functions and modules, names that are looked up, module-level ``__getattr__``."""
    name = d.new("here")
    form = d.random.randrange(7)
    if form == 0:
        d.top += [f"def {name}():", f"    return {name}.device", "", f"{name}.device = 'cuda'"]
        return d.one(f"{name}()", f"{name}.device")
    if form == 1:
        d.files[f"{name}_mod.py"] = (
            "def __getattr__(name):\n    if name == 'DEVICE':\n        return 'cuda'\n    raise AttributeError(name)\n"
        )
        d.use(f"import {name}_mod")
        return f"{name}_mod.DEVICE"
    if form == 2:
        d.top.append(f"{name.upper()} = 'cuda'")
        return d.one(f"globals()['{name.upper()}']", f"globals().get('{name.upper()}', 'cpu')")
    if form == 3:
        d.use("from functools import cached_property")
        d.top += [
            f"class {name.title()}:",
            "    @cached_property",
            "    def device(self):",
            f"        return {d.one(repr('cuda'), d.torch + '.device(' + repr('cuda:1') + ')')}",
            "",
        ]
        return f"{name.title()}().device"
    if form == 4:
        d.top += [
            f"class {name.title()}:",
            "    def __init__(self, device):",
            "        self.device = device",
            "",
            "    @classmethod",
            "    def default(cls):",
            "        return cls('cuda')",
            "",
            "    @staticmethod",
            "    def kind():",
            "        return 'cuda:1'",
            "",
        ]
        return d.one(f"{name.title()}.default().device", f"{name.title()}.kind()")
    if form == 5:
        d.top += [
            f"class {name.title()}:",
            "    __slots__ = ('device',)",
            "",
            "    def __init__(self):",
            "        self.device = 'cuda'",
            "",
            "    def __getitem__(self, key):",
            "        return getattr(self, key)",
            "",
        ]
        return d.one(f"{name.title()}().device", f"{name.title()}()['device']")
    d.use("from enum import Enum")
    base = d.one("str, Enum", "Enum")
    d.top += [
        f"class {name.title()}({base}):",
        "    CUDA = 'cuda'",
        "    CPU = 'cpu'",
        "",
        "    @property",
        "    def device(self):",
        f"        return {d.torch}.device(self.value)",
        "",
    ]
    return d.one(f"{name.title()}.CUDA.device", f"{name.title()}['CUDA'].value", f"list({name.title()})[0].value")


DEVICES = (
    *(of_record, of_record, of_command, of_command, of_settings, of_texts, of_texts),
    *(of_statements, of_statements, of_torch, of_torch, of_names, of_names),
)
