"""What training programs do besides: mixed precision, gates, groups of one process, generators, memory, checks of arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .programs import Draft


def amp(d: Draft, device: str, x: str) -> None:
    """A step with a scaler that is on. The numbers are exact in any precision."""
    model, scaler, optimizer = d.new("layer"), d.new("scaler"), d.new("sgd")
    torch = d.torch
    made = d.one(
        f"{torch}.cuda.amp.GradScaler(init_scale=4.0)",
        f"{torch}.amp.GradScaler('cuda', init_scale=4.0)",
        f"{torch}.amp.GradScaler({x}.device.type, init_scale=4.0)",
        f"{torch}.cuda.amp.GradScaler(init_scale=4.0, enabled={torch}.cuda.is_available())",
    )
    around = d.one(
        f"{torch}.cuda.amp.autocast()",
        f"{torch}.autocast('cuda')",
        f"{torch}.autocast(device_type='cuda', dtype={torch}.bfloat16)",
        f"{torch}.autocast({x}.device.type, enabled=True)",
        f"{torch}.amp.autocast(device_type={torch}.device({device}).type)",
    )
    d.body += [
        f"{model} = {torch}.nn.Linear(3, 1, bias=False).to({x}.device)",
        f"{torch}.nn.init.constant_({model}.weight, 0.5)",
        f"{optimizer} = {torch}.optim.SGD({model}.parameters(), lr=0.5)",
        f"{scaler} = {made}",
        f"with {around}:",
        f"    loss_{model} = {model}({x}).sum().float()",
        f"{scaler}.scale(loss_{model}).backward()",
    ]
    if d.random.random() < 0.5:
        d.body.append(f"{scaler}.unscale_({optimizer})")
    d.body += [
        f"{scaler}.step({optimizer})",
        f"{scaler}.update()",
        f"print('amp', float(loss_{model}), {model}.weight.tolist(), {scaler}.is_enabled())",
    ]
    if d.random.random() < 0.3:
        d.body.append(f"print('scale', {scaler}.get_scale() > 0, sorted({scaler}.state_dict())[:1])")


def autocasts(d: Draft, device: str, x: str) -> None:
    """Autocast as a decorator, out of a condition, in a stack of contexts."""
    name, torch = d.new("run"), d.torch
    form = d.random.randrange(5)
    if form == 0:
        decorator = d.one(
            f"@{torch}.cuda.amp.autocast(enabled=False)", f"@{torch}.autocast(device_type='cuda', enabled=False)"
        )
        d.top += [decorator, f"def {name}(value):", "    return float(value.sum())", ""]
        d.body.append(f"print('cast', {name}({x}))")
    elif form == 1:
        d.use("from contextlib import nullcontext")
        d.body += [
            f"{name} = {torch}.cuda.amp.autocast(enabled=False) if {x}.is_cuda else nullcontext()",
            f"with {name}:",
            f"    print('cast', float({x}.sum()))",
        ]
    elif form == 2:
        d.use("from contextlib import ExitStack")
        d.body += [
            f"with ExitStack() as {name}:",
            f"    {name}.enter_context({torch}.autocast('cuda', enabled=False))",
            f"    {name}.enter_context({torch}.no_grad())",
            f"    print('cast', float({x}.sum()))",
        ]
    elif form == 3:
        d.use("from functools import partial")
        d.body += [
            f"{name} = partial({torch}.autocast, device_type='cuda', dtype={torch}.bfloat16, enabled=False)",
            f"with {name}():",
            f"    print('cast', float({x}.sum()))",
        ]
    else:
        d.body += [
            f"{name} = {{'device_type': {d.one(repr('cuda'), f'{x}.device.type')}, 'enabled': False}}",
            f"with {torch}.autocast(**{name}):",
            f"    print('cast', float({x}.sum()))",
        ]


def gates(d: Draft, device: str, x: str) -> None:
    """What the card can do, and what it was built with."""
    cuda, torch, name = d.cuda(), d.torch, d.new("props")
    form = d.random.randrange(9)
    lines = [
        [f"if {cuda}.get_device_capability()[0] >= 7:", "    print('new')", "else:", "    print('old')"],
        [f"print('gate', {cuda}.get_device_capability(0) >= (8, 0))"],
        [f"{name} = {cuda}.get_device_properties(0)", f"print('total', {name}.total_memory > 0, bool({name}.name))"],
        [f"major, minor = {cuda}.get_device_capability({device})", "print('major', major > 6)"],
        [f"print('free', {cuda}.mem_get_info()[0] > 0)"],
        [f"print('built', {torch}.version.cuda is not None)"],
        [f"print('version', int({torch}.version.cuda.split('.')[0]) > 0)"],
        [f"if {cuda}.is_available() and {cuda}.is_bf16_supported():", f"    print('bf16', {x}.bfloat16().is_cuda)"],
        [f"{name} = {cuda}.get_device_properties({x}.device)", f"print('units', {name}.multi_processor_count > 0)"],
    ]
    d.body += lines[form]


def group(d: Draft, device: str, x: str) -> None:
    """A process group of one, and what is done with it."""
    torch, name = d.torch, d.new("net")
    d.use("import torch.distributed as dist")
    backend = d.one(
        "'nccl'",
        "backend='nccl'",
        f"'nccl' if {torch}.cuda.is_available() else 'gloo'",
        "backend='nccl' if dist.is_nccl_available() else 'gloo'",
    )
    if form := d.random.randrange(2):
        d.top.append(f"BACKEND{d.new('')} = 'nccl'")
        backend = f"BACKEND{d.number}"
    d.body += [
        f"dist.init_process_group({backend}, rank=0, world_size=1, store=dist.HashStore())",
        f"print('group', dist.get_rank(), dist.get_world_size(){d.one('', ', dist.get_backend() == ' + repr('nccl'))})",
    ]
    form = d.random.randrange(4)
    if form == 0:
        d.body += [f"dist.all_reduce({x})", f"print('reduced', {x}.tolist())"]
    elif form == 1:
        d.body += [
            f"{name} = {torch}.tensor([float(dist.get_rank())]).cuda()",
            f"dist.broadcast({name}, src=0)",
            f"print('sent', {name}.tolist())",
        ]
    elif form == 2:
        d.body += [
            f"{torch}.cuda.set_device(dist.get_rank())",
            f"{name} = {torch}.ones(2).cuda()",
            "dist.barrier()",
            f"print('at', {name}.device.index)",
        ]
    else:
        d.body += [
            f"{name} = {torch}.nn.parallel.DistributedDataParallel({torch}.nn.Linear(3, 1, bias=False).cuda(), device_ids=[0])",
            f"{torch}.nn.init.ones_({name}.module.weight)",
            f"print('ddp', float({name}({x}.to(next({name}.parameters()).device)).sum()))",
        ]


def random_state(d: Draft, device: str, x: str) -> None:
    cuda, torch, name = d.cuda(), d.torch, d.new("rng")
    d.body += d.one(
        f"{name} = {cuda}.get_rng_state_all()\n{cuda}.set_rng_state_all({name})\nprint('all', len({name}) > 0)",
        f"{name} = {torch}.Generator(device={device})\n{name}.manual_seed(3)\nprint('seed', {name}.initial_seed())",
        f"{name} = {torch}.Generator(device='cuda').manual_seed(3)\n"
        f"print('shape', tuple({torch}.randn(2, generator={name}, device='cuda').shape))",
        f"{cuda}.manual_seed(7)\nprint('initial', {cuda}.initial_seed() == 7)",
        f"{name} = {{'torch': {torch}.get_rng_state(), 'cuda': {cuda}.get_rng_state()}}\n"
        f"{cuda}.set_rng_state({name}['cuda'])\nprint('restored', sorted(map(len, {name})))",
        f"for {name} in range({cuda}.device_count()):\n    with {cuda}.device({name}):\n        {cuda}.manual_seed({name})\nprint('each')",
        f"with {torch}.random.fork_rng(devices=[0]):\n    {torch}.manual_seed(0)\nprint('forked')",
    ).split("\n")


def streams(d: Draft, device: str, x: str) -> None:
    cuda, name = d.cuda(), d.new("stream")
    d.body += d.one(
        f"{name} = {cuda}.Stream()\nwith {cuda}.stream({name}):\n    {name}_y = {x} * 2\n"
        f"{cuda}.current_stream().wait_stream({name})\nprint('doubled', {name}_y.tolist())",
        f"{name} = {cuda}.Event()\n{name}.record({cuda}.current_stream())\n{name}.synchronize()\nprint('done', {name}.query())",
        f"{name} = {cuda}.Stream(device={x}.device)\n{name}.wait_stream({cuda}.current_stream())\n{name}.synchronize()\nprint('waited')",
        f"{name} = {cuda}.current_stream()\n{x}.record_stream({name})\nprint('recorded')",
        f"{name} = {cuda}.default_stream()\n{name}.synchronize()\nprint('default')",
        f"{name} = {cuda}.Event(enable_timing=True)\n{cuda}.current_stream().record_event({name})\n"
        f"{cuda}.current_stream().wait_event({name})\nprint('event')",
        f"{name} = {cuda}.Stream() if {cuda}.is_available() else None\nif {name} is not None:\n    {name}.synchronize()\nprint('maybe')",
    ).split("\n")


def memory(d: Draft, device: str, x: str) -> None:
    cuda, name = d.cuda(), d.new("used")
    d.body += d.one(
        f"{name} = {cuda}.memory_stats().get('allocated_bytes.all.peak', 0)\nprint('peak', {name} >= 0)",
        f"print('summary', isinstance({cuda}.memory_summary(), str))",
        f"{name} = {cuda}.memory_allocated({x}.device) / 1024 ** 2\nprint(f'memory {{{name} >= 0}}')",
        f"{cuda}.reset_max_memory_allocated()\nprint('reset')",
        f"{name} = lambda: {cuda}.max_memory_reserved() if {cuda}.is_available() else 0\nprint('reserved', {name}() >= 0)",
        f"{cuda}.set_per_process_memory_fraction(0.9)\nprint('fraction')",
    ).split("\n")


def failures(d: Draft, device: str, x: str) -> None:
    """Errors that are caught: out of memory, no card."""
    cuda, torch, name = d.cuda(), d.torch, d.new("tried")
    form = d.random.randrange(5)
    if form == 0:
        d.body += [
            "try:",
            f"    print('sum', float({x}.sum()))",
            f"except {d.one(f'{torch}.cuda.OutOfMemoryError', f'{cuda}.OutOfMemoryError')}:",
            f"    {cuda}.empty_cache()",
        ]
    elif form == 1:
        d.body += [
            "try:",
            f"    print('sum', float({x}.sum()))",
            "except RuntimeError as error:",
            "    if 'CUDA out of memory' not in str(error):",
            "        raise",
        ]
    elif form == 2:
        d.top += [
            f"def {name}():",
            f"    if not {torch}.cuda.is_available():",
            "        raise RuntimeError('needs CUDA')",
            f"    return {torch}.cuda.device_count() > 0",
            "",
        ]
        d.body.append(f"print('ready', {name}())")
    elif form == 3:
        d.use("import unittest")
        d.top += [
            f"class {name.title()}(unittest.TestCase):",
            f"    @unittest.skipIf(not {torch}.cuda.is_available(), 'needs CUDA')",
            "    def test_there(self):",
            f"        self.assertTrue({torch}.ones(1).cuda().is_cuda)",
            f"        self.assertEqual({torch}.ones(1, device='cuda').device.type, 'cuda')",
            "",
        ]
        d.body += [
            f"{name} = unittest.TestResult()",
            f"unittest.defaultTestLoader.loadTestsFromTestCase({name.title()}).run({name})",
            f"print('tests', {name}.testsRun, len({name}.skipped), len({name}.failures + {name}.errors))",
        ]
    else:
        d.body += [
            f"assert {cuda}.is_available(), 'CUDA is not available'",
            f"{name} = {torch}.device({device})",
            f"if {name}.type == 'cuda' and not {cuda}.is_available():",
            "    raise SystemExit('no card')",
            f"print('index', {name}.index or 0)",
        ]


def arguments(d: Draft, device: str, x: str) -> None:
    """Checks of what is given as a device, and its types."""
    name, torch = d.new("check"), d.torch
    form = d.random.randrange(7)
    given = d.one(f"{x}.device.type", f"{torch}.device({device}).type", f"str({device}).split(':')[0]")
    if form == 0:
        d.use("from typing import Literal, get_args")
        d.top += [
            f"{name.title()} = Literal['cuda', 'cpu']",
            "",
            f"def {name}(kind: {name.title()}) -> bool:",
            f"    if kind not in get_args({name.title()}):",
            "        raise ValueError(kind)",
            "    return len(kind) > 0",
            "",
        ]
        d.body.append(f"print('literal', {name}({given}))")
    elif form == 1:
        d.top += [
            f"def {name}(kind):",
            f"    if kind not in {d.one('{' + repr('cuda') + ', ' + repr('cpu') + '}', repr(('cpu', 'cuda')), repr(['cuda', 'cpu']))}:",
            "        raise ValueError(f'unknown device {kind}')",
            "    return kind == 'cpu'",
            "",
        ]
        d.body.append(f"print('known', {name}({given}))")
    elif form == 2:
        d.use("from enum import Enum")
        d.top += [f"class {name.title()}(str, Enum):", "    CUDA = 'cuda'", "    CPU = 'cpu'", ""]
        d.body.append(
            d.one(
                f"print('enum', {name.title()}({given}) is {name.title()}.CUDA)",
                f"print('enum', {name.title()}.CUDA == {given})",
                f"print('enum', {given} in {{one.value for one in {name.title()}}})",
            )
        )
    elif form == 3:
        d.body.append(f"print('isinstance', isinstance({x}, ({torch}.FloatTensor, {torch}.cuda.FloatTensor)))")
    elif form == 4:
        d.body += [
            f"{name} = {{{torch}.device('cuda', 0): 'first', {torch}.device('cuda', 1): 'second'}}",
            f"print('keyed', {name}[{x}.device] in ('first', 'second'))",
        ]
    elif form == 5:
        d.top += [
            f"class {name.title()}:",
            "    def run_cuda(self):",
            "        return 'fast'",
            "",
            "    def run_cpu(self):",
            "        return 'slow'",
            "",
        ]
        d.body.append(f"print('named', getattr({name.title()}(), f'run_{{{given}}}')())")
    else:
        d.top += [
            f"def {name}_cuda():",
            "    return 'fast'",
            "",
            f"def {name}_cpu():",
            "    return 'slow'",
            "",
        ]
        d.body.append(f"print('global', globals()['{name}_' + {given}]())")


def apart(d: Draft, device: str, x: str) -> None:
    """A device's text, taken apart in less common ways; with an index of 0 or 1."""
    d.use("import re")
    text = d.one(f"str({d.torch}.device({device}))", f"str({x}.device)", f"f'{{{x}.device}}'")
    name = d.new("text")
    test = d.one(
        f"re.sub(r'cuda:?', '', {name})",
        f"re.fullmatch(r'cuda(?::(\\d+))?', {name}) is not None",
        f"re.match('cuda', {name}) is not None",
        f"re.compile('^cuda').search({name}) is not None",
        f"len({name}.split('cuda'))",
        f"{name}[len('cuda'):].lstrip(':')",
        f"{name}.removeprefix('cuda').removeprefix(':')",
        f"{name}.partition(':')[0] == 'cuda'",
        f"{name}.count('cuda')",
        f"{name}.find('cuda') >= 0",
        f"'cuda' == {name}.split(':', 1)[0]",
        f"{name}.strip(':01') == 'cuda'",
        f"{name}.lower().startswith(('cuda', 'xpu'))",
        f"{name}.startswith('cu')",
        f"{name} in ('cuda', 'cuda:0', 'cuda:1')",
        f"not {name}.startswith('cpu')",
        f"{name} != 'cpu'",
        f"{name} > 'cpu'",
        f"{name}.index('cuda')",
        f"int({name}.split(':')[-1]) if ':' in {name} else None",
        f"{name}.replace('cuda', 'gpu').startswith('gpu')",
        f"{name}.title().startswith('Cuda')",
    )
    d.body += [f"{name} = {text}", f"print('apart', {test})"]


def recorded(d: Draft, device: str, x: str) -> None:
    """What a program says of its device goes out, and comes back."""
    name, torch = d.new("record"), d.torch
    form = d.random.randrange(5)
    if form == 0:
        d.use("import json")
        d.body += [
            f"{name} = json.loads(json.dumps({{'device': str({x}.device)}}))",
            f"print('back', {torch}.ones(2).to({name}['device']).is_cuda)",
        ]
    elif form == 1:
        d.use("import os")
        d.body += [
            f"os.environ['{name.upper()}'] = str({device})",
            f"print('variable', {torch}.device(os.environ['{name.upper()}']).type == {x}.device.type)",
        ]
    elif form == 2:
        d.use("import logging")
        d.body += [
            f"logging.getLogger('cuda').info('on %s', {x}.device)",
            "print('logged', logging.getLogger('cuda').name)",
        ]
    elif form == 3:
        d.body += [
            f"{name} = f'runs/{{{x}.device.type}}/model.pt'",
            f"print('path', {name}.split('/')[0], {name}.endswith('.pt'))",
        ]
    else:
        d.body += [
            f"{name} = [str({x}.device), 'cpu']",
            f"{name}.sort()",
            f"print('sorted', {name}.index('cpu'), len(set({name})))",
        ]


def switches(d: Draft, device: str, x: str) -> None:
    """Settings of back ends, ranges for a profiler, variables of the environment."""
    torch, name = d.torch, d.new("flag")
    d.body += d.one(
        f"{torch}.backends.cuda.matmul.allow_tf32 = True\nprint('tf32')",
        f"{torch}.backends.cudnn.allow_tf32 = False\nprint('tf32')",
        f"{torch}.cuda.nvtx.range_push('step')\n{torch}.cuda.nvtx.range_pop()\nprint('range')",
        f"with {torch}.cuda.nvtx.range('step'):\n    print('range', float({x}.sum()))",
        f"{torch}.set_float32_matmul_precision('high')\nprint('high')",
        f"{name} = {torch}.backends.cudnn.enabled\nprint('cudnn', {name} in (True, False))",
        f"{torch}.cuda.init()\nprint('init', {torch}.cuda.is_initialized())",
        f"with {torch}.cuda.device_of({x}):\n    print('of', float({x}.sum()))",
        f"{torch}.cuda.set_device({x}.device)\nprint('set', {torch}.cuda.current_device() == {x}.device.index)\n{torch}.cuda.set_device(0)",
        f"{torch}.cuda.set_device('cuda:1')\nprint('set', {torch}.cuda.current_device())\n{torch}.cuda.set_device(0)",
        f"{torch}.backends.cuda.enable_flash_sdp(False)\nprint('sdp')",
    ).split("\n")


PARTS = (
    *(amp, amp, autocasts, autocasts, gates, group, random_state, random_state, streams, memory),
    *(failures, failures, arguments, arguments, arguments, apart, apart, recorded, switches),
)
