"""Tensors that get to the device as training programs have it: parameters, hooks, transforms, checkpoints, wrappers, dispatch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .programs import Draft

PLAIN = "tensor([1.0, 2.0, 3.0])"


def straight(d: Draft, device: str) -> str:
    """Less common calls."""
    name = d.new("x")
    torch, plain = d.torch, f"{d.torch}.{PLAIN}"
    d.body.append(
        d.one(
            f"{name} = {plain}.to({device}, {torch}.float32)",
            f"{name} = {plain}.to(dtype={torch}.float32, device={device})",
            f"{name} = {plain}.cuda(device={device})",
            f"{name} = {plain}.cuda(0, True)",
            f"{name} = {plain}.double().cuda().float()",
            f"{name} = {plain}.to(0)",
            f"{name} = {torch}.empty(3, device={device}).copy_({plain})",
            f"{name} = {torch}.zeros(3, device={device}).add_({plain}.to({device}))",
            f"{name} = {torch}.as_tensor([1.0, 2.0, 3.0], device={device})",
            f"{name} = {torch}.as_tensor([1.0, 2.0, 3.0]).cuda()",
            f"{name} = {torch}.zeros_like({plain}, device={device}) + {plain}.to({device})",
            f"{name} = {torch}.ones(1, device={device}).new_tensor([1.0, 2.0, 3.0])",
            f"{name} = {torch}.linspace(1, 3, 3).cuda()",
            f"{name} = {torch}.stack([{plain}, {plain}]).to({device})[0]",
            f"{name} = ({plain} * 1).cuda()",
            f"{name} = {plain}[:].contiguous().cuda()",
            f"{name} = {torch}.from_numpy({plain}.numpy()).to({device})",
            f"{name} = {torch}.FloatTensor([1.0, 2.0, 3.0]).cuda()",
            f"{name} = {torch}.autograd.Variable({plain}).cuda()",
            f"{name} = ({name}_too := {plain}.cuda())",
            f"{name} = {torch}.nn.Parameter({plain}.cuda()).detach()",
            f"{name} = {torch}.nn.Parameter({plain}).cuda().detach()",
        )
    )
    return name


def by_default_device(d: Draft, device: str) -> str:
    """The device that is the default, for a block or until it is put back."""
    name = d.new("x")
    form = d.random.randrange(3)
    if form == 0:
        d.body += [f"with {d.torch}.device({device}):", f"    {name} = {d.torch}.{PLAIN}"]
    elif form == 1:
        d.body += [
            f"{d.torch}.set_default_device({device})",
            f"{name} = {d.torch}.{PLAIN}",
            f"{d.torch}.set_default_device('cpu')",
        ]
    else:
        d.body += [
            f"{d.torch}.set_default_tensor_type({d.one(d.torch + '.cuda.FloatTensor', repr('torch.cuda.FloatTensor'))})",
            f"{name} = {d.torch}.{PLAIN}",
            f"{d.torch}.set_default_tensor_type('torch.FloatTensor')",
            f"{name} = {name}.to({device})",
        ]
    return name


def by_dispatch(d: Draft, device: str) -> str:
    """Functions that are chosen by type, by pattern, by name."""
    name, move = d.new("x"), d.new("move")
    plain = f"{d.torch}.{PLAIN}"
    form = d.random.randrange(5)
    if form == 0:
        d.use("from functools import singledispatch")
        d.top += [
            "@singledispatch",
            f"def {move}(value, device):",
            "    return value",
            "",
            f"@{move}.register({d.torch}.Tensor)",
            "def _(value, device):",
            "    return value.to(device)",
            "",
            f"@{move}.register(list)",
            "def _(value, device):",
            f"    return [{move}(one, device) for one in value]",
            "",
        ]
        d.body.append(f"{name} = {move}([{plain}, 'x'], {device})[0]")
    elif form == 1:
        d.top += [
            f"def {move}(value):",
            "    match value:",
            "        case {'x': one}:",
            "            return one.cuda()",
            "        case [one, *_]:",
            "            return one.cuda()",
            "    return value.cuda()",
            "",
        ]
        d.body.append(f"{name} = {move}({d.one('{' + repr('x') + ': ' + plain + '}', '[' + plain + ']', plain)})")
    elif form == 2:
        d.top += [
            f"class {move.title()}:",
            "    def on_cuda(self, value):",
            "        return value.cuda()",
            "",
            "    def on_cpu(self, value):",
            "        return value.cpu()",
            "",
        ]
        d.body.append(f"{name} = getattr({move.title()}(), 'on_' + 'cuda')({plain})")
    elif form == 3:
        d.top += [
            f"def {move}(value, how='cuda', *args):",
            "    return getattr(value, how)(*args)",
            "",
        ]
        d.body.append(
            f"{name} = {d.one(f'{move}({plain})', f'{move}({plain}, {chr(39)}to{chr(39)}, {device})', f'{move}({plain}, {chr(39)}cuda{chr(39)})')}"
        )
    else:
        d.top += [
            f"{move} = {{'cuda': lambda t: t.cuda(), 'cpu': lambda t: t.cpu()}}",
        ]
        d.body.append(f"{name} = {move}['cuda' if {d.torch}.cuda.is_available() else 'cpu']({plain})")
    return name


def by_wrapping(d: Draft, device: str) -> str:
    """Decorators, contexts, descriptors and callable objects that move what they are given."""
    name, wrap = d.new("x"), d.new("wrap")
    plain = f"{d.torch}.{PLAIN}"
    form = d.random.randrange(6)
    if form == 0:
        d.use("import functools")
        d.top += [
            f"def {wrap}(f):",
            "    @functools.wraps(f)",
            "    def inner(*args):",
            f"        return f(*[a.cuda() if {d.torch}.is_tensor(a) else a for a in args])",
            "    return inner",
            "",
            f"@{wrap}",
            f"def {wrap}_id(value):",
            "    return value",
            "",
        ]
        d.body.append(f"{name} = {wrap}_id({plain})")
    elif form == 1:
        d.top += [
            f"def {wrap}(device='cuda'):",
            "    def around(f):",
            "        def inner(value):",
            "            return f(value.to(device))",
            "        return inner",
            "    return around",
            "",
            f"@{wrap}({d.one('', repr('cuda'), 'device=' + repr('cuda:1'))})",
            f"def {wrap}_id(value):",
            "    return value",
            "",
        ]
        d.body.append(f"{name} = {wrap}_id({plain})")
    elif form == 2:
        d.top += [
            f"class {wrap.title()}:",
            "    def __init__(self, value, device):",
            "        self.value, self.device = value, device",
            "",
            "    def __enter__(self):",
            "        return self.value.to(self.device)",
            "",
            "    def __exit__(self, *error):",
            "        return None",
            "",
        ]
        d.body += [f"with {wrap.title()}({plain}, {device}) as {name}:", "    pass"]
    elif form == 3:
        d.top += [
            f"class {wrap.title()}:",
            "    def __init__(self, steps):",
            "        self.steps = steps",
            "",
            "    def __call__(self, value):",
            "        for step in self.steps:",
            "            value = step(value)",
            "        return value",
            "",
            f"class {wrap.title()}Move:",
            "    def __init__(self, device='cuda'):",
            "        self.device = device",
            "",
            "    def __call__(self, value):",
            f"        return value.{d.one('to(self.device)', 'cuda(self.device)', 'to(self.device, non_blocking=True)')}",
            "",
        ]
        d.body.append(f"{name} = {wrap.title()}([{wrap.title()}Move({d.one('', device)}), lambda v: v * 1])({plain})")
    elif form == 4:
        d.top += [
            f"class {wrap.title()}:",
            "    def __init__(self, value):",
            "        self.value = value",
            "",
            "    @property",
            "    def gpu(self):",
            f"        return self.value.{d.one('cuda()', 'to(' + repr('cuda') + ')')}",
            "",
        ]
        d.body.append(f"{name} = {wrap.title()}({plain}).gpu")
    else:
        d.use("from contextlib import contextmanager")
        d.top += [
            "@contextmanager",
            f"def {wrap}(*values):",
            f"    moved = [v.{d.one('cuda()', 'cuda(non_blocking=True)')} for v in values]",
            "    yield moved",
            "",
        ]
        d.body += [f"with {wrap}({plain}) as ({name},):", "    pass"]
    return name


def of_module(d: Draft, device: str) -> str:
    """Modules with a device of their own: a property, buffers, hooks, what they hold, data parallel."""
    name, cls, model = d.new("x"), d.new("Net"), d.new("net")
    nn, plain = f"{d.torch}.nn", f"{d.torch}.{PLAIN}"
    move = d.one(".cuda()", f".to({device})", f".to(device={device})", ".cuda(0)")
    form = d.random.randrange(6)
    if form == 0:
        d.top += [
            f"class {cls}({nn}.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            f"        self.weight = {nn}.Parameter({d.torch}.ones(3))",
            "",
            "    @property",
            "    def device(self):",
            "        return next(self.parameters()).device",
            "",
            "    def forward(self, x):",
            "        return x.to(self.device) * self.weight",
            "",
        ]
        d.body += [f"{model} = {cls}(){move}", f"{name} = {model}({plain}).detach()"]
    elif form == 1:
        d.top += [
            f"class {cls}({nn}.Module):",
            "    def __init__(self, device='cuda'):",
            "        super().__init__()",
            f"        self.register_buffer('mean', {d.torch}.zeros(3, device=device))",
            f"        self.scale = {d.torch}.ones(3).{d.one('cuda()', 'to(device)')}",
            "",
            "    def forward(self, x):",
            "        return (x.to(self.mean.device) - self.mean) * self.scale.to(self.mean.device)",
            "",
        ]
        d.body.append(f"{name} = {cls}({d.one('', device)})({plain})")
    elif form == 2:
        d.body += [
            f"{model} = {nn}.Identity()",
            f"{model}.register_forward_pre_hook(lambda m, args: (args[0].cuda(),))",
            f"{name} = {model}({plain})",
        ]
    elif form == 3:
        d.top += [
            f"class {cls}({nn}.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            f"        self.layers = {nn}.ModuleDict({{'cuda_': {nn}.Identity(), 'act': {nn}.ReLU()}})",
            f"        self.extra = [{d.torch}.zeros(3)]",
            "",
            "    def to(self, *args, **kwargs):",
            "        self.extra = [e.to(*args, **kwargs) for e in self.extra]",
            "        return super().to(*args, **kwargs)",
            "",
            "    def forward(self, x):",
            "        return self.layers['cuda_'](x) + self.extra[0]",
            "",
        ]
        d.body += [f"{model} = {cls}().to({device})", f"{name} = {model}({plain}.to({device}))"]
    elif form == 4:
        wrapped = d.one(
            f"{nn}.DataParallel({nn}.Identity())",
            f"{nn}.DataParallel({nn}.Identity(), device_ids=[0])",
            f"{nn}.DataParallel({nn}.Identity().cuda())",
        )
        d.body += [f"{model} = {wrapped}{d.one('', '.cuda()')}", f"{name} = {model}({plain}.cuda())"]
    else:
        d.body += [
            f"{model} = {nn}.Linear(3, 3, bias=False{d.one('', f', device={device}')}){d.one('.cuda()', f'.to({device})')}",
            f"{model}.weight.data = {d.torch}.eye(3).{d.one('cuda()', f'to({device})', f'to({model}.weight.device)')}",
            f"{name} = {model}({plain}.to({model}.weight.device)).detach()",
        ]
    return name


def of_checkpoint(d: Draft, device: str) -> str:
    """What is saved, and loaded onto the device: of models, of optimizers, with what it says of its device."""
    name, file, state = d.new("x"), d.new("file"), d.new("state")
    d.use("import io")
    plain = f"{d.torch}.{PLAIN}"
    form = d.random.randrange(5)
    d.body.append(f"{file} = io.BytesIO()")
    if form == 0:
        d.body += [
            f"{d.torch}.save({{'model': {{'weight': {plain}}}, 'device': 'cuda'}}, {file})",
            f"{file}.seek(0)",
            f"{state} = {d.torch}.load({file}, map_location='cpu')",
            f"{name} = {state}['model']['weight'].to({state}['device'])",
        ]
    elif form == 1:
        where = d.one(device, f"{d.torch}.device({device})", "f'cuda:{0}'", "'cuda:' + str(1)", "{'cuda:1': 'cuda:0'}")
        d.body += [
            f"{d.torch}.save({plain}, {file})",
            f"{file}.seek(0)",
            f"{name} = {d.torch}.load({file}, map_location={where}).to({device})",
        ]
    elif form == 2:
        model = d.new("model")
        d.body += [
            f"{model} = {d.torch}.nn.Linear(3, 3, bias=False)",
            f"{d.torch}.save({{'weight': {d.torch}.eye(3)}}, {file})",
            f"{file}.seek(0)",
            f"{model}.load_state_dict({d.torch}.load({file}, map_location={d.one(device, repr('cpu'))}))",
            f"{model}.{d.one('cuda()', f'to({device})')}",
            f"{name} = {model}({plain}.to({model}.weight.device)).detach()",
        ]
    elif form == 3:
        model, optimizer = d.new("model"), d.new("adam")
        d.body += [
            f"{model} = {d.torch}.nn.Linear(3, 1)",
            f"{optimizer} = {d.torch}.optim.Adam({model}.parameters())",
            f"{model}({plain}).sum().backward()",
            f"{optimizer}.step()",
            f"for {state} in {optimizer}.state.values():",
            f"    for key, value in {state}.items():",
            f"        if {d.one(f'isinstance(value, {d.torch}.Tensor)', f'{d.torch}.is_tensor(value)')}:",
            f"            {state}[key] = value.{d.one('cuda()', f'to({device})')}",
            f"print('moved', all(v.is_cuda for s in {optimizer}.state.values() for v in s.values()))",
            f"{name} = {plain}.to({device})",
        ]
    else:
        d.use("import pickle")
        d.body.append(f"{name} = pickle.loads(pickle.dumps({plain})).{d.one('cuda()', f'to({device})')}")
    return name


def of_batch(d: Draft, device: str) -> str:
    """Batches: collated by a partial, moved by comprehensions, by a method that is inherited, by a generator of a class."""
    name, batch, cls = d.new("x"), d.new("batch"), d.new("Loader")
    plain = f"{d.torch}.{PLAIN}"
    form = d.random.randrange(5)
    if form == 0:
        d.use("from functools import partial")
        d.top += [
            f"def {batch}_collate(rows, device):",
            f"    return {d.torch}.stack(rows).to(device)",
            "",
        ]
        d.body.append(
            f"{name} = next(iter({d.torch}.utils.data.DataLoader([{plain}], collate_fn=partial({batch}_collate, device={device}))))[0]"
        )
    elif form == 1:
        d.top += [
            f"class {cls}:",
            "    def __init__(self, rows, device):",
            "        self.rows, self.device = rows, device",
            "",
            "    def __iter__(self):",
            "        for row in self.rows:",
            "            yield {k: v.to(self.device, non_blocking=True) for k, v in row.items()}",
            "",
            "    def __len__(self):",
            "        return len(self.rows)",
            "",
        ]
        d.body += [f"for {batch} in {cls}([{{'x': {plain}}}], {device}):", f"    {name} = {batch}['x']"]
    elif form == 2:
        d.top += [
            f"class {cls}:",
            f"    device = {d.one(repr('cuda'), repr('cuda:1'))}",
            "",
            "    def move(self, *values):",
            "        return tuple(v.to(self.device) for v in values)",
            "",
            f"class {cls}Own({cls}):",
            "    def step(self, batch):",
            "        x, y = self.move(*batch)",
            "        return x",
            "",
        ]
        d.body.append(f"{name} = {cls}Own().step(({plain}, {plain}))")
    elif form == 3:
        d.body += [
            f"{batch} = ({plain}, {{'y': [{plain}]}})",
            f"{name}, {batch}_y = {batch}[0].cuda(), {batch}[1]['y'][0].cuda(non_blocking=True)",
        ]
    else:
        d.use("import types")
        d.body += [
            f"{batch} = types.SimpleNamespace(x={plain}, y={plain})",
            f"for key, value in vars({batch}).items():",
            f"    setattr({batch}, key, value.{d.one('cuda()', f'to({device})')})",
            f"{name} = {batch}.x",
        ]
    return name


TENSORS = (
    *(straight, straight, by_default_device, by_dispatch, by_dispatch, by_wrapping, by_wrapping),
    *(of_module, of_module, of_checkpoint, of_checkpoint, of_batch, of_batch),
)
