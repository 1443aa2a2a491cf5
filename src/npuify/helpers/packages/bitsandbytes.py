# mypy: ignore-errors
"""What bitsandbytes' optimizers compute, with states of 32 bits: optimizers of PyTorch under its names.

The steps are those of bitsandbytes with 32 bits; with 8 bits its states are rounded, so that its numbers differ a
little. States take four times the memory. Both Adams take the weight decay off the parameters, as AdamW does.
"""

import sys

import torch


class AdamW(torch.optim.AdamW):
    """Adam with the weight decay taken off the parameters."""

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        *,
        optim_bits=32,
        min_8bit_size=4096,
        is_paged=False,
    ):
        super().__init__(params, lr, betas, eps, weight_decay)


class Adam(AdamW):
    """The same without a weight decay, unless one is given."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, **options):
        super().__init__(params, lr, betas, eps, weight_decay, **options)


class SGD(torch.optim.SGD):
    """Gradient descent with a momentum."""

    def __init__(self, params, lr, momentum=0, *, weight_decay=0, optim_bits=32, min_8bit_size=4096):
        if momentum == 0:
            raise NotImplementedError("bitsandbytes has no SGD without a momentum")
        super().__init__(params, lr, momentum, weight_decay=weight_decay)


class RMSprop(torch.optim.RMSprop):
    """RMSprop without a momentum."""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, *, optim_bits=32, min_8bit_size=4096):
        super().__init__(params, lr, alpha, eps, weight_decay)


class Adagrad(torch.optim.Adagrad):
    """Adagrad whose rate stays."""

    def __init__(self, params, lr=1e-2, *, weight_decay=0, eps=1e-10, optim_bits=32, min_8bit_size=4096):
        super().__init__(params, lr, weight_decay=weight_decay, eps=eps)


class Lion(torch.optim.Optimizer):
    """Steps of one size, by the sign of a mean of gradients."""

    def __init__(
        self,
        params,
        lr=1e-4,
        betas=(0.9, 0.99),
        weight_decay=0,
        *,
        optim_bits=32,
        min_8bit_size=4096,
        is_paged=False,
    ):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        """One step; gives what ``closure`` gives."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            first, second = group["betas"]
            for param in group["params"]:
                if param.grad is None:
                    continue
                state = self.state[param]
                if not state:
                    state["mean"] = torch.zeros_like(param, dtype=torch.promote_types(param.dtype, torch.float32))
                mean, grad = state["mean"], param.grad.to(state["mean"].dtype)
                way = torch.sign(mean * first + grad * (1 - first))
                param.mul_(1 - group["lr"] * group["weight_decay"]).add_(way.to(param.dtype), alpha=-group["lr"])
                mean.mul_(second).add_(grad, alpha=1 - second)
        return loss


class GlobalOptimManager:
    """Where bitsandbytes is told which states stay at 32 bits: here all do."""

    _instance = None

    @classmethod
    def get_instance(cls):
        """The one that there is."""
        cls._instance = cls._instance or cls()
        return cls._instance

    def register_parameters(self, params):
        """Nothing has to be known of them."""

    def override_config(self, parameters, key=None, value=None, key_value_dict=None):
        """Take other bits for some parameters, of which nothing comes.

        Raises:
            NotImplementedError: anything else is to be other for them.
        """
        self._check({**(key_value_dict or {}), **({} if key is None else {key: value})})

    def register_module_override(self, module, param_name, config):
        """The same for a parameter of a module."""
        self._check(config)

    def _check(self, config):
        if set(config) - {"optim_bits"}:
            raise NotImplementedError("only bits of states can differ between parameters")


Adam8bit = Adam32bit = PagedAdam = PagedAdam8bit = PagedAdam32bit = Adam
AdamW8bit = AdamW32bit = PagedAdamW = PagedAdamW8bit = PagedAdamW32bit = AdamW
SGD8bit = SGD32bit = SGD
RMSprop8bit = RMSprop32bit = RMSprop
Adagrad8bit = Adagrad32bit = Adagrad
Lion8bit = Lion32bit = PagedLion = PagedLion8bit = PagedLion32bit = Lion

optim = sys.modules[__name__]
"""bitsandbytes.optim, for code that says ``bnb.optim.AdamW8bit``."""
