"""Calls of flash_attn and xformers as calls of ``torch_npu.npu_fusion_attention``, or why there is none."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.rules.attention.call import Plan, Refused
from npuify.rules.attention.flash_calls import FlashCall
from npuify.rules.attention.forms import form_of, is_memory_efficient_attention
from npuify.rules.attention.xformers_calls import XformersCall

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile


def plan_of(call: ast.Call, file: PythonFile) -> Plan | None:
    """What becomes of a call; None for a call of anything else."""
    name = file.qualname(call.func)
    form = form_of(name)
    if form is None and not is_memory_efficient_attention(name):
        return None
    key = ("attention plan", call)
    plan: Plan | None = file.recall(key)
    if plan is None:
        try:
            package = (name or "").split(".")[0]
            modules = file.project.modules
            if package in modules or any(name.endswith("flash_attn.flash_attn_interface") for name in modules):
                raise Refused(phrase("the project has its own {package}, whose functions may differ", package=package))
            made = FlashCall(call, file).plan(form) if form is not None else XformersCall(call, file).plan()
        except Refused as reason:
            made = Plan(refusal=str(reason))
        plan = file.remember(key, made)
    return plan
