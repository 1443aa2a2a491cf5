"""What the parts of a program do with a device and a tensor on it, and print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .programs import Draft


def sums(d: Draft, device: str, x: str) -> None:
    d.body.append(f"print('sum', float(({x} * 2).sum()))")


def meets_new(d: Draft, device: str, x: str) -> None:
    made = d.one(
        f"{d.torch}.ones(3).to({x}.device)",
        f"{d.torch}.ones_like({x})",
        f"{x}.new_ones(3)",
        f"{d.torch}.ones(3, device={x}.device)",
        f"{d.torch}.ones(3).type_as({x})",
        f"{d.torch}.ones(3).to({x})",
    )
    d.body.append(f"print('meets', ({x} + {made}).tolist())")


def is_there(d: Draft, device: str, x: str) -> None:
    test = d.one(
        f"{x}.is_cuda",
        f"{x}.device.type == 'cuda'",
        f"'cuda' in str({x}.device)",
        f"str({x}.device).startswith('cuda')",
        f"{x}.device.type in ('cuda', 'mps')",
        f"{x}.device.type != 'cpu'",
        f"{d.torch}.device({device}).type == 'cuda'",
        f"{d.torch}.device({device}) == {d.torch}.device('cuda', {d.torch}.device({device}).index or 0)",
        f"'cuda' in str({device})",
        f"{x}.type().startswith('torch.cuda')",
        f"isinstance({x}, {d.torch}.cuda.FloatTensor)",
        f"'cuda' in {x}.type()",
        f"'torch.cuda' in {x}.type()",
        f"{x}.device == {d.torch}.device('cpu')",
        f"{d.torch}.device('cuda:0').type == {x}.device.type",
    )
    form = d.random.randrange(4)
    if form == 0:
        d.body.append(f"print('there', {test})")
    elif form == 1:
        d.body += [f"if {test}:", "    print('fast')", "else:", "    print('slow')"]
    elif form == 2:
        d.body.append(f"print('fast' if {test} else 'slow')")
    else:
        name = d.new("is_gpu")
        d.body += [f"{name} = {test}", f"print('flag', {name})"]


def looked_up(d: Draft, device: str, x: str) -> None:
    name = d.new("names")
    key = d.one(f"{x}.device.type", f"{d.torch}.device({device}).type", f"str({device}).split(':')[0]")
    d.top.append(f'{name} = {{"cuda": "gpu", "cpu": "host"}}')
    d.body.append(d.one(f"print({name}[{key}])", f"print({name}.get({key}, 'other'))"))


def taken_apart(d: Draft, device: str, x: str) -> None:
    text = f"str({d.torch}.device({device}))"
    form = d.random.randrange(6)
    if form == 0:
        d.body.append(f"print('index', int({x}.device.index))")
    elif form == 1:
        d.body.append(f"print('kind', {text}.split(':')[0] == 'cuda')")
    elif form == 2:
        d.use("import re")
        d.body.append(f"print('match', bool(re.match(r'cuda(:\\d+)?$', {text})))")
    elif form == 3:
        name = d.new("text")
        d.body += [
            f"{name} = {text}",
            f"print('number', int({name}[5:] or 0) if {name}.startswith('cuda') else 'none')",
        ]
    elif form == 4:
        d.body.append(f"print('rest', {text}.replace('cuda', '').strip(':'))")
    else:
        d.body.append(f"print('last', {text}.rpartition(':')[2].isdigit() if ':' in {text} else 'plain')")


def asks(d: Draft, device: str, x: str) -> None:
    cuda = d.cuda()
    form = d.random.randrange(13)
    lines = [
        [f"print('available', {cuda}.is_available())"],
        [f"print('some', {cuda}.device_count() > 0)"],
        [f"{cuda}.synchronize()", "print('synchronized')"],
        [f"{cuda}.manual_seed_all(3)", f"{d.torch}.manual_seed(3)"],
        [f"{cuda}.empty_cache()"],
        [f"print('memory', {cuda}.memory_allocated() >= 0)"],
        [f"{cuda}.set_device(0)", f"print('current', {cuda}.current_device())"],
        [f"event = {cuda}.Event(enable_timing=True)", "event.record()"],
        [f"with {cuda}.device(0):", f"    print('inside', float({x}.sum()))"],
        [f"stream = {cuda}.Stream()", f"with {cuda}.stream(stream):", f"    print('stream', float({x}.sum()))"],
        [f"with {cuda}.amp.autocast(enabled=False):", f"    print('amp', float({x}.sum()))"],
        [f"with {d.torch}.autocast('cuda', enabled=False):", f"    print('amp', float({x}.sum()))"],
        [f"print('has', hasattr({d.torch}, 'cuda'), hasattr({cuda}, 'synchronize'))"],
    ]
    d.body += lines[form]


def guarded(d: Draft, device: str, x: str) -> None:
    cuda = d.cuda()
    form = d.random.randrange(4)
    if form == 0:
        d.body += [
            f"if {cuda}.is_available():",
            f"    print('gpu', float({x}.cuda().sum()))",
            "else:",
            "    print('none')",
        ]
    elif form == 1:
        name = d.new("use_cuda")
        d.body += [
            f"{name} = {cuda}.is_available()",
            f"if {name}:",
            f"    {x} = {x}.cuda()",
            f"print('used', {name}, {x}.tolist())",
        ]
    elif form == 2:
        d.body += [
            "try:",
            f"    {cuda}.synchronize()",
            "    print('ok')",
            "except Exception as error:",
            "    print(type(error).__name__)",
        ]
    else:
        name = d.new("there")
        d.body += [
            f"{name} = {d.torch}.device('cuda' if {cuda}.is_available() else 'cpu')",
            f"print('same', {name}.type == {x}.device.type)",
        ]


def own_names(d: Draft, device: str, x: str) -> None:
    """Words and names of the program's own: they stay as they are."""
    form = d.random.randrange(9)
    name = d.new("own")
    if form == 0:
        d.body += [
            f"{name} = {{'cuda': 1, 'name': 'x'}}",
            f"print('keys', sorted(len(k) for k in {name}), {name}['cuda'])",
        ]
    elif form == 1:
        d.top += [f"def {name}(device_type='cuda'):", "    return len(device_type)", ""]
        d.body.append(f"print('length', {name}(), {name}('cuda'))")
    elif form == 2:
        d.body.append("print('path', len('runs/cuda/model.pt'), 'cuda' in 'runs/cuda/model.pt')")
    elif form == 3:
        d.top += [
            f"class {name.title()}:",
            "    def cuda(self):",
            "        return 'own'",
            "",
            "    def to(self, place):",
        ]
        d.top += ["        return len(place)", ""]
        d.body.append(f"print({name.title()}().cuda(), {name.title()}().to('cuda'))")
    elif form == 4:
        d.top += [f"class {name.title()}:", "    cuda = 7", "", "    def is_cuda(self):", "        return 'never'", ""]
        d.body.append(f"print({name.title()}.cuda, {name.title()}().is_cuda())")
    elif form == 5:
        d.body.append("print('error', len('needs cuda 11'))")
    elif form == 6:
        d.files[f"{name}.py"] = "def is_available():\n    return 'mine'\n\n\ndef synchronize():\n    return 4\n"
        d.use(f"import {name}")
        d.body.append(f"print({name}.is_available(), {name}.synchronize())")
    elif form == 7:
        d.top += [f"def {name}(cuda=True, gpu='cuda'):", "    return cuda, len(gpu)", ""]
        d.body.append(f"print({name}(cuda=False), {name}(gpu='cuda'))")
    else:
        d.use("import hashlib")
        d.body.append("print(hashlib.md5(b'cuda').hexdigest()[:6])")


def passed_on(d: Draft, device: str, x: str) -> None:
    function = d.new("work")
    form = d.random.randrange(5)
    if form == 0:
        d.top += [f"def {function}(value, device='cuda'):", "    return value.to(device).sum()", ""]
        d.body.append(f"print('work', float({function}({x}.cpu())), float({function}({x}, {device})))")
    elif form == 1:
        d.top += [f"def {function}(value, **kwargs):", f"    return {d.torch}.zeros(3, **kwargs) + value", ""]
        d.body.append(f"print('work', {function}({x}, device={x}.device).tolist())")
    elif form == 2:
        d.top += [f"def {function}(value, gpu=0):", "    return value.cuda(gpu) * 2", ""]
        d.body.append(f"print('work', {function}({x}.cpu()).tolist(), {function}({x}, gpu=1).tolist())")
    elif form == 3:
        d.use("from functools import partial")
        d.body += [f"{function} = partial({d.torch}.ones, device={device})", f"print('work', {function}(2).tolist())"]
    else:
        d.use("from contextlib import contextmanager")
        d.top += ["@contextmanager", f"def {function}(device):", "    yield {'device': device}", ""]
        d.body += [
            f"with {function}({device}) as place:",
            f"    print('work', {d.torch}.ones(2, **place).sum().item())",
        ]


def saved(d: Draft, device: str, x: str) -> None:
    d.use("import io")
    name = d.new("file")
    where = d.one(
        f"map_location={device}",
        "map_location='cpu'",
        "map_location=lambda storage, loc: storage",
        "map_location={'cuda:0': 'cpu'}",
    )
    d.body += [
        f"{name} = io.BytesIO()",
        f"{d.torch}.save({x}.cpu(), {name})",
        f"{name}.seek(0)",
        f"print('loaded', {d.torch}.load({name}, {where}).tolist())",
    ]


def trained(d: Draft, device: str, x: str) -> None:
    model, optimizer = d.new("layer"), d.new("optimizer")
    d.body += [
        f"{d.torch}.manual_seed(0)",
        f"{model} = {d.torch}.nn.Linear(3, 1).to({x}.device)",
        f"{d.torch}.nn.init.constant_({model}.weight, 0.25)",
        f"{optimizer} = {d.torch}.optim.SGD({model}.parameters(), lr=0.5)",
        f"{model}({x}).sum().backward()",
        f"{optimizer}.step()",
        f"print('trained', [round(v, 4) for v in {model}.weight.tolist()[0]])",
    ]


def by_default(d: Draft, device: str, x: str) -> None:
    form = d.random.randrange(2)
    if form == 0:
        d.body += [f"with {d.torch}.device({device}):", "    pass"]
    else:
        made = d.new("rng")
        d.body += [
            f"{made} = {d.torch}.cuda.get_rng_state()",
            f"{d.torch}.cuda.set_rng_state({made})",
            "print('state')",
        ]


def by_name(d: Draft, device: str, x: str) -> None:
    form = d.random.randrange(5)
    if form == 0:
        d.use("import importlib")
        d.body.append("print('module', importlib.import_module('torch.cuda').is_available())")
    elif form == 1:
        d.body.append(f"print('got', getattr({d.torch}, 'cuda').is_available())")
    elif form == 2:
        d.body.append(f"print('method', getattr({x}.cpu(), 'cuda')().tolist())")
    elif form == 3:
        name = d.new("call")
        d.body += [f"{name} = {d.torch}.cuda.synchronize", f"print('call', {name}())"]
    else:
        name = d.new("methods")
        d.body += [
            f"{name} = {{'gpu': {d.torch}.Tensor.cuda, 'cpu': {d.torch}.Tensor.cpu}}",
            f"print({name}['gpu']({x}.cpu()).tolist())",
        ]


PARTS = (
    *(sums, meets_new, is_there, is_there, looked_up, taken_apart, asks, asks, guarded, own_names, own_names),
    *(passed_on, passed_on, saved, trained, by_default, by_name),
)
