"""What real programs do besides: tables by device, loops over devices, timers, tests, patches, helpers for several cards, names of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .programs import Draft


def rows(d: Draft, device: str, x: str) -> None:
    """Loops over devices, and lists of them that are sorted, filtered, divided."""
    name, torch = d.new("row"), d.torch
    form = d.random.randrange(10)
    if form == 0:
        d.body += [
            f"for {name} in {d.one(repr(('cpu', 'cuda')), repr(['cuda', 'cpu']), repr(('cuda:0', 'cuda:1')))}:",
            f"    print('made', {torch}.ones(1).to({name}).device.type == {torch}.device({name}).type)",
        ]
    elif form == 1:
        d.body += [
            f"{name} = ['cpu'] + (['cuda'] if {torch}.cuda.is_available() else [])",
            f"print('row', len({name}), [{torch}.ones(1, device=one).is_cuda for one in {name}])",
        ]
    elif form == 2:
        d.body += [
            f"{name} = [str(t.device) for t in ({x}, {x}.cpu())]",
            f"print('gpus', len([one for one in {name} if {d.one(repr('cuda') + ' in one', 'one.startswith(' + repr('cuda') + ')', 'one != ' + repr('cpu'))}]))",
        ]
    elif form == 3:
        d.body += [
            f"{name} = [t.device.type for t in ({x}, {x}.cpu())]",
            f"print('any', any(one == 'cuda' for one in {name}), all(one == 'cuda' for one in {name}), {name}.count('cuda'))",
        ]
    elif form == 4:
        d.body += [
            f"for {name} in range({torch}.cuda.device_count()):",
            f"    print('card', {name}, {torch}.ones(1, device={d.one('f' + repr('cuda:{' + name + '}'), name, f'{torch}.device({chr(39)}cuda{chr(39)}, {name})')}).device.index)",
        ]
    elif form == 5:
        d.body += [
            f"{name} = {{str(one): one for one in ({torch}.device('cuda:0'), {torch}.device('cpu'))}}",
            f"print('listed', 'cuda:0' in {name}, {name}['cuda:0'].index)",
        ]
    elif form == 6:
        d.top += [
            f"def {name}(devices):",
            "    cards = [one for one in devices if one.type == 'cuda']",
            "    return len(cards), len(devices) - len(cards)",
            "",
        ]
        d.body.append(f"print('divided', {name}([{x}.device, {x}.cpu().device, {torch}.device({device})]))")
    elif form == 7:
        d.body += [
            f"{name} = sorted([{x}.cpu(), {x}], key=lambda t: t.device.type == 'cuda')",
            f"print('last', {name}[-1].is_cuda)",
        ]
    elif form == 8:
        d.body += [
            f"{name} = dict(zip(('cuda', 'cpu'), (1, 2)))",
            f"print('sum', sum({name}[one.device.type] for one in ({x}, {x}.cpu())))",
        ]
    else:
        d.body += [
            f"{name}, *{name}_rest = [f'cuda:{{i}}' for i in range({torch}.cuda.device_count())]",
            f"print('first', {torch}.ones(1).to({name}).is_cuda, len({name}_rest))",
        ]


def indexed(d: Draft, device: str, x: str) -> None:
    """Numbers of cards, and devices that are made of parts of others."""
    name, torch = d.new("at"), d.torch
    d.body += d.one(
        f"{name} = {x}.device\nprint('index', {name}.index if {name}.index is not None else {torch}.cuda.current_device())",
        f"{name} = {torch}.device({x}.device.type, {x}.device.index or 0)\nprint('same', {name} == {x}.device)",
        f"{name} = {x}.get_device()\nprint('got', {torch}.ones(1).cuda({name}).device.index == {name})",
        f"{name} = f'{{{x}.device.type}}:{{{x}.device.index or 0}}'\nprint('again', {torch}.ones(1).to({name}).is_cuda)",
        f"{name}, _, {name}_no = str({x}.device).partition(':')\nprint('parts', {name} == 'cuda', {name}_no.isdigit())",
        f"{name} = str({x}.device).split(':')\nprint('parts', {name}[0] == 'cuda', len({name}))",
        f"{name} = {torch}.device({device})\nprint('full', {name}.type == 'cuda' and ({name}.index or 0) < {torch}.cuda.device_count())",
        f"{name} = {torch}.device({device})\nprint('kind', {name}.type in {{'cuda', 'xpu'}}, isinstance({name}, {torch}.device))",
        f"with {torch}.cuda.device({x}.device):\n    {name} = {torch}.cuda.current_device()\nprint('inside', {name} == {x}.device.index)",
        f"{name} = {{0: 'cuda:0', 1: 'cuda:1'}}[{x}.device.index]\nprint('named', {torch}.ones(1, device={name}).device == {x}.device)",
        f"{name} = getattr({x}, 'device', None)\nprint('has', {name} is not None and {name}.type == 'cuda')",
        f"{name} = {x}.device.type\n{name} = 'gpu' if {name} == 'cuda' else {name}\nprint('word', {name}, len({name}))",
    ).split("\n")


def timed(d: Draft, device: str, x: str) -> None:
    """Timers, decorators that wait, contexts that guard."""
    name, torch, cuda = d.new("timer"), d.torch, d.cuda()
    form = d.random.randrange(7)
    if form == 0:
        d.top += [
            f"class {name.title()}:",
            "    def __enter__(self):",
            f"        self.start, self.end = [{torch}.cuda.Event(enable_timing=True) for _ in range(2)]",
            "        self.start.record()",
            "        return self",
            "",
            "    def __exit__(self, *error):",
            "        self.end.record()",
            f"        {torch}.cuda.synchronize()",
            "        self.seconds = self.start.elapsed_time(self.end) / 1000",
            "",
        ]
        d.body += [f"with {name.title()}() as {name}:", f"    {x}.sum()", f"print('timed', {name}.seconds >= 0)"]
    elif form == 1:
        d.use("from contextlib import contextmanager")
        d.top += [
            "@contextmanager",
            f"def {name}(device=None):",
            f"    {torch}.cuda.synchronize({d.one('device', '')})",
            "    yield",
            f"    {torch}.cuda.synchronize({d.one('device', '')})",
            "",
        ]
        d.body += [f"with {name}({d.one('', device, f'{x}.device')}):", f"    print('sum', float({x}.sum()))"]
    elif form == 2:
        d.body += [
            f"{name} = {cuda}.synchronize if {cuda}.is_available() else (lambda: None)",
            f"{name}()",
            "print('waited')",
        ]
    elif form == 3:
        d.use("import time")
        d.top += [
            f"def {name}():",
            f"    if {torch}.cuda.is_available():",
            f"        {torch}.cuda.synchronize()",
            "    return time.time()",
            "",
        ]
        d.body += [f"{name}_begun = {name}()", f"print('later', {name}() >= {name}_begun)"]
    elif form == 4:
        d.use("from contextlib import nullcontext")
        d.body += [
            f"{name} = {torch}.cuda.stream({torch}.cuda.Stream()) if {x}.is_cuda else nullcontext()",
            f"with {name}:",
            f"    print('in', float({x}.sum()))",
        ]
    elif form == 5:
        d.top += [
            f"def {name}(f):",
            "    def inner(value, *args):",
            f"        with {torch}.cuda.device(value.device):",
            "            return f(value, *args)",
            "    return inner",
            "",
            f"@{name}",
            f"def {name}_sum(value):",
            "    return float(value.sum())",
            "",
        ]
        d.body.append(f"print('guarded', {name}_sum({x}))")
    else:
        d.use("import atexit")
        d.top += [f"atexit.register({torch}.cuda.empty_cache)"]
        d.body.append("print('registered')")


def tested(d: Draft, device: str, x: str) -> None:
    """Tests: over devices, skipped without a card, with CUDA's functions patched."""
    name, torch = d.new("tests"), d.torch
    form = d.random.randrange(7)
    d.use("import unittest")
    d.use("from unittest import mock")
    ending = [
        f"{name} = unittest.TestResult()",
        f"unittest.defaultTestLoader.loadTestsFromTestCase({name.title()}).run({name})",
        f"print('tests', {name}.testsRun, len({name}.skipped), len({name}.failures + {name}.errors))",
    ]
    if form == 0:
        d.top += [
            f"class {name.title()}(unittest.TestCase):",
            f"    @unittest.skipUnless({torch}.cuda.is_available(), 'needs a card')",
            "    def test_each(self):",
            "        for device in ('cpu', 'cuda'):",
            "            with self.subTest(device=device):",
            f"                self.assertEqual({torch}.ones(1).to(device).device.type, device)",
            "",
        ]
        d.body += ending
    elif form == 1:
        d.top += [
            f"class {name.title()}(unittest.TestCase):",
            f"    device = {d.one(repr('cuda'), f'{torch}.device({chr(39)}cuda{chr(39)})')}",
            "",
            "    def setUp(self):",
            f"        self.x = {torch}.ones(3).to(self.device)",
            "",
            "    def test_there(self):",
            f"        {d.one('self.assertTrue(self.x.is_cuda)', 'self.assertIn(' + repr('cuda') + ', str(self.x.device))', 'assert self.x.device.type == ' + repr('cuda'))}",
            "",
        ]
        d.body += ending
    elif form == 2:
        d.top += [f"def {name}():", f"    return 'cuda' if {torch}.cuda.is_available() else 'cpu'", ""]
        d.body += [
            f"with mock.patch('torch.cuda.is_available', return_value={d.one('False', 'True')}):",
            f"    print('patched', {torch}.device({name}()).type == 'cpu')",
        ]
    elif form == 3:
        d.body += [
            f"with mock.patch.object({torch}.cuda, 'is_available', lambda: False):",
            f"    print('patched', {torch}.cuda.is_available())",
        ]
    elif form == 4:
        d.body += [
            f"{name} = {torch}.cuda.synchronize",
            f"{torch}.cuda.synchronize = lambda *args: print('synchronized')",
            f"{torch}.cuda.synchronize()",
            f"{torch}.cuda.synchronize = {name}",
        ]
    elif form == 5:
        d.top += [
            f"{name.upper()} = [('cpu', False), ('cuda', True)]",
            "",
            f"def {name}_case(device, expected):",
            f"    assert {torch}.ones(2, device=device).is_cuda is expected",
            "",
        ]
        d.body += [f"for {name} in {name.upper()}:", f"    {name}_case(*{name})", "print('all cases')"]
    else:
        d.top += [
            f"class {name.title()}(unittest.TestCase):",
            "    def test_there(self):",
            f"        if not {torch}.cuda.is_available():",
            "            self.skipTest('no card')",
            f"        y = {torch}.ones(2).{d.one('cuda()', 'to(' + repr('cuda') + ')')}",
            "        self.assertEqual(str(y.device), 'cuda:0')",
            "",
        ]
        d.body += ending


def seeded(d: Draft, device: str, x: str) -> None:
    """Seeds and switches as every project has them, in a function or a file of its own."""
    name, torch = d.new("seed"), d.torch
    lines = [
        "    random.seed(seed)",
        "    torch.manual_seed(seed)",
        f"    torch.cuda.{d.one('manual_seed', 'manual_seed_all')}(seed)",
    ]
    if d.random.random() < 0.5:
        lines += ["    torch.backends.cudnn.deterministic = True", "    torch.backends.cudnn.benchmark = False"]
    if d.random.random() < 0.3:
        lines += ["    os.environ['CUBLAS_WORKSPACE_CONFIG'] = ':4096:8'"]
    if d.random.random() < 0.4:
        lines[2:3] = ["    if torch.cuda.is_available():", "    " + lines[2]]
    text = [f"def {name}_everything(seed=0):", *lines, "    return seed", ""]
    if d.random.random() < 0.5:
        d.files[f"{name}.py"] = "import os\nimport random\n\nimport torch\n\n\n" + "\n".join(text)
        d.use(f"from {name} import {name}_everything")
    else:
        d.use("import os")
        d.use("import random")
        d.use("import torch")
        d.top += text
    d.body.append(f"print('seed', {name}_everything(3), {torch}.rand(1).shape[0])")


def dispatched(d: Draft, device: str, x: str) -> None:
    """What a program does on a card only: in functions of torch's autograd, in checks, in tables."""
    name, torch = d.new("op"), d.torch
    form = d.random.randrange(7)
    if form == 0:
        d.top += [
            f"class {name.title()}({torch}.autograd.Function):",
            "    @staticmethod",
            "    def forward(ctx, value):",
            "        if not value.is_cuda:",
            "            raise NotImplementedError('only on a card')",
            "        return value * 2",
            "",
            "    @staticmethod",
            "    def backward(ctx, grad):",
            "        return grad * 2",
            "",
        ]
        d.body.append(f"print('applied', {name.title()}.apply({x}).tolist())")
    elif form == 1:
        d.top += [
            f"def {name}(value):",
            "    assert value.is_cuda, 'must be a CUDA tensor'",
            "    return float(value.sum())",
            "",
        ]
        d.body.append(f"print('checked', {name}({x}))")
    elif form == 2:
        d.top += [
            f"def {name}_fast(v):",
            "    return 'fast'",
            "",
            f"def {name}_slow(v):",
            "    return 'slow'",
            "",
            f"def {name}(value):",
            f"    return ({name}_fast if value.{d.one('is_cuda', 'device.type == ' + repr('cuda'))} else {name}_slow)(value)",
            "",
        ]
        d.body.append(f"print({name}({x}), {name}({x}.cpu()))")
    elif form == 3:
        d.top += [
            f"def {name}(device):",
            f"    if {d.one('isinstance(device, str) and device.startswith(' + repr('cuda') + ')', repr('cuda') + ' in str(device)')}:",
            "        return 4",
            f"    if isinstance(device, {torch}.device) and device.type == 'cuda':",
            "        return 2",
            "    return 0",
            "",
        ]
        d.body.append(f"print('workers', {name}({d.one(device, f'{x}.device', f'str({x}.device)')}) > 0)")
    elif form == 4:
        d.top += [
            f"class {name.title()}:",
            "    batch = {'cuda': 64, 'cpu': 8}",
            "    pinned = property(lambda self: self.device.type == 'cuda')",
            "",
            "    def __init__(self, device):",
            f"        self.device = {torch}.device(device)",
            "        self.size = self.batch[self.device.type]",
            "",
        ]
        d.body.append(f"print('batch', {name.title()}({device}).size, {name.title()}({x}.device).pinned)")
    elif form == 5:
        d.body += [
            f"{name} = {torch}.autocast(device_type={x}.device.type if {x}.device.type != 'mps' else 'cpu', enabled=False)",
            f"with {name}:",
            f"    print('cast', float({x}.sum()))",
        ]
    else:
        d.body += [
            f"{name} = {torch}.bfloat16 if {torch}.cuda.is_available() and {torch}.cuda.is_bf16_supported() else {torch}.float32",
            f"print('cast', {x}.to({name}).is_cuda, {x}.to(dtype={name}).float().tolist())",
        ]


def several(d: Draft, device: str, x: str) -> None:
    """Helpers for several cards, in a file of the project."""
    name, torch = d.new("dist_utils"), d.torch
    backend = d.one("'nccl'", "'nccl' if torch.cuda.is_available() else 'gloo'")
    d.files[f"{name}.py"] = (
        "import functools\n\nimport torch\nimport torch.distributed as dist\n\n\n"
        f"def setup(backend={backend}, rank=0, world_size=1):\n"
        "    torch.cuda.set_device(rank % torch.cuda.device_count())\n"
        "    dist.init_process_group(backend, rank=rank, world_size=world_size, store=dist.HashStore())\n"
        "    return torch.device('cuda', rank)\n\n\n"
        "def is_main():\n    return not dist.is_initialized() or dist.get_rank() == 0\n\n\n"
        "def main_only(f):\n    @functools.wraps(f)\n    def inner(*args, **kwargs):\n        if is_main():\n"
        "            return f(*args, **kwargs)\n    return inner\n\n\n"
        "def reduce_mean(tensor):\n    tensor = tensor.clone()\n    dist.all_reduce(tensor)\n"
        "    return tensor / dist.get_world_size()\n\n\n"
        "def average(values):\n    t = torch.tensor(values, dtype=torch.float32, device='cuda')\n    dist.all_reduce(t)\n"
        "    return t.tolist()\n\n\n"
        "@main_only\ndef say(*values):\n    print(*values)\n"
    )
    d.use(f"import {name}")
    d.body.append(f"{name}_device = {name}.setup({d.one('', repr('nccl'), 'backend=' + repr('nccl'))})")
    d.body += d.one(
        f"{name}.say('mean', {name}.reduce_mean({x}).tolist())",
        f"print('average', {name}.average([1.0, 3.0]))",
        f"{name}.say('device', {name}_device.type == {x}.device.type, {torch}.ones(1, device={name}_device).is_cuda)",
        f"{name}.say('on', {name}_device)",
    ).split("\n")


def own_things(d: Draft, device: str, x: str) -> None:
    """Things of the program's own that are called as those of torch are."""
    name = d.new("mine")
    form = d.random.randrange(10)
    if form == 0:
        d.top += [
            f"class {name.title()}:",
            "    def __init__(self, device='cuda'):",
            "        self.label = device.upper()",
            "",
        ]
        d.body.append(f"print({name.title()}().label, {name.title()}('cuda').label)")
    elif form == 1:
        d.files[f"{name}_cuda.py"] = (
            "def device_count():\n    return 'mine'\n\n\ndef is_available():\n    return 'maybe'\n"
        )
        d.use(f"import {name}_cuda as {name}")
        d.body.append(f"print({name}.device_count(), {name}.is_available())")
    elif form == 2:
        d.files[f"{name}/__init__.py"] = ""
        d.files[f"{name}/cuda.py"] = "class Event:\n    kind = 'own'\n\n\ndef synchronize():\n    return 'own'\n"
        d.use(f"from {name} import cuda as {name}_c")
        d.body.append(f"print({name}_c.Event().kind, {name}_c.synchronize())")
    elif form == 3:
        d.top += [f"def {name}_init_process_group(backend):", "    return backend.upper()", ""]
        d.body.append(f"print({name}_init_process_group('nccl'), {name}_init_process_group(backend='gloo'))")
    elif form == 4:
        d.top += [
            f"class {name.title()}:",
            "    def to(self, where):",
            "        return where.upper()",
            "",
            "    def cuda(self, *args):",
            "        return 'called'",
            "",
        ]
        d.body.append(f"print({name.title()}().to('cuda'), [one.cuda() for one in [{name.title()}()]])")
    elif form == 5:
        d.use("import argparse")
        d.body += [
            f"{name} = argparse.ArgumentParser(prog='cuda-tool', description='for cuda')",
            f"{name}.add_argument('--cuda', type=int, default=3, help='cuda streams')",
            f"print('own', {name}.parse_args([]).cuda, {name}.prog)",
        ]
    elif form == 6:
        d.body += [f"{name} = {{'cuda': 11.8, 'cudnn': 8}}", f"print(sorted({name}), {name}.get('cuda'))"]
    elif form == 7:
        d.top += [
            f"{name.upper()}_TEMPLATE = '''#!/bin/sh",
            "python run.py --kind cuda",
            "'''",
        ]
        d.body.append(f"print({name.upper()}_TEMPLATE.count('cuda'), {name.upper()}_TEMPLATE.splitlines()[1])")
    elif form == 8:
        d.use("from enum import IntFlag")
        d.top += [f"class {name.title()}(IntFlag):", "    CPU = 1", "    CUDA = 2", ""]
        d.body.append(f"print(int({name.title()}.CUDA | {name.title()}.CPU), {name.title()}.CUDA in {name.title()}(3))")
    else:
        d.top += [
            f"class {name.title()}Backend:",
            "    name = 'cuda'",
            "",
            "    def describe(self):",
            "        return f'backend {self.name}'",
            "",
        ]
        d.body.append(f"print({name.title()}Backend().describe())")


def kept_later(d: Draft, device: str, x: str) -> None:
    """Checkpoints, states and records that say a device."""
    name, torch = d.new("kept"), d.torch
    d.use("import io")
    form = d.random.randrange(6)
    if form == 0:
        where = d.one(device, f"{x}.device", "lambda storage, loc: storage", "'cpu'", f"{torch}.device('cpu')")
        d.body += [
            f"{name} = io.BytesIO()",
            f"{torch}.save({{'x': {x}.cpu(), 'epoch': 2}}, {name})",
            f"{name}.seek(0)",
            f"{name}_state = {torch}.load({name}, map_location={where})",
            f"print('loaded', {name}_state['x'].to({x}.device).tolist(), {name}_state['epoch'])",
        ]
    elif form == 1:
        d.body += [
            f"{name} = {{'device': {x}.device, 'sum': float({x}.sum())}}",
            f"print('kept', {name}['device'].type == 'cuda', str({name}['device'])[:4] == 'cuda', {name}['sum'])",
        ]
    elif form == 2:
        d.body += [
            f"{name} = {torch}.nn.Linear(3, 1, bias=False).to({x}.device)",
            f"{torch}.nn.init.ones_({name}.weight)",
            f"{name}_copy = {{k: v.cpu() for k, v in {name}.state_dict().items()}}",
            f"{name}.load_state_dict({{k: v.{d.one('cuda()', f'to({x}.device)')} for k, v in {name}_copy.items()}})",
            f"print('state', {name}({x}).tolist(), [v.is_cuda for v in {name}_copy.values()])",
        ]
    elif form == 3:
        d.body += [
            f"{name} = {torch}.optim.SGD([{torch}.nn.Parameter({x}.clone())], lr=0.5, momentum=0.5)",
            f"{name}.param_groups[0]['params'][0].grad = {torch}.ones_like({x})",
            f"{name}.step()",
            f"print('stepped', {name}.param_groups[0]['params'][0].tolist(), {name}.param_groups[0]['params'][0].is_cuda)",
        ]
    elif form == 4:
        d.use("import logging")
        d.top += [
            f"class {name.title()}(logging.Handler):",
            "    def emit(self, record):",
            "        print('log', record.getMessage())",
            "",
        ]
        d.body += [
            f"{name} = logging.getLogger('{name}')",
            f"{name}.addHandler({name.title()}())",
            f"{name}.warning('using %s', {d.one(f'{x}.device', f'{x}.device.type', repr('cuda'))})",
        ]
    else:
        d.body += [
            f"{name} = [('device', str({x}.device)), ('n', 3)]",
            f"print('|'.join(f'{{k}}={{v}}' for k, v in {name}))",
        ]


PARTS = (
    *(rows, rows, indexed, indexed, timed, tested, tested, seeded, dispatched, dispatched),
    *(several, own_things, own_things, kept_later),
)
