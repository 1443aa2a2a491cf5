"""Programs that are not converted, and why."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.language import commas, phrase
from npuify.model import Severity

if TYPE_CHECKING:
    from npuify.distribute.edits import Draft
    from npuify.distribute.reading.loops import Loops
    from npuify.distribute.reading.program import Program, Unit

_ENVIRONMENTS = frozenset(
    "gym gymnasium stable_baselines3 tianshou pettingzoo dm_control procgen atari_py ale_py mujoco_py minigrid "
    "isaacgym rllib torchrl".split()
)
_GROUPS = frozenset(
    "torch.distributed.init_process_group torch.distributed.distributed_c10d.init_process_group "
    "torch.nn.parallel.DistributedDataParallel torch.nn.parallel.distributed.DistributedDataParallel "
    "torch.distributed.fsdp.FullyShardedDataParallel torch.distributed.fsdp.fully_shard "
    "torch.distributed.rpc.init_rpc torch.distributed.device_mesh.init_device_mesh deepspeed.initialize "
    "deepspeed.init_distributed apex.parallel.DistributedDataParallel colossalai.launch "
    "colossalai.launch_from_torch".split()
)
_PROCESSES = frozenset(
    "multiprocessing.Process torch.multiprocessing.Process torch.multiprocessing.spawn "
    "torch.multiprocessing.spawn.spawn concurrent.futures.ProcessPoolExecutor torch.multiprocessing.start_processes "
    "torch.distributed.launcher.api.elastic_launch os.fork ray.remote".split()
)
_STARTS = frozenset(
    "subprocess.Popen subprocess.run subprocess.call subprocess.check_call subprocess.check_output os.system os.popen "
    "os.execv os.spawnv os.posix_spawn".split()
)
_ASKING = frozenset("is_available is_initialized get_rank get_world_size is_nccl_available barrier".split())
"""What a program for one card may call, too, where it is prepared for many."""
_ONE_CARD: Final = re.compile(r"(?:npu|cuda):(\d+)")
_TRAINERS = {
    "pytorch_lightning.Trainer": 'Trainer(accelerator="npu", devices=8, strategy="ddp")',
    "lightning.Trainer": 'Trainer(accelerator="npu", devices=8, strategy="ddp")',
    "lightning.pytorch.Trainer": 'Trainer(accelerator="npu", devices=8, strategy="ddp")',
    "lightning.fabric.Fabric": "Fabric(devices=8), then fabric.setup() and fabric.setup_dataloaders()",
    "lightning.Fabric": "Fabric(devices=8), then fabric.setup() and fabric.setup_dataloaders()",
    "transformers.Trainer": "start it with `torchrun --nproc_per_node 8`: the Trainer does the rest",
    "transformers.Seq2SeqTrainer": "start it with `torchrun --nproc_per_node 8`: the Trainer does the rest",
    "pytorch_lightning.cli.LightningCLI": "start it with --trainer.accelerator npu --trainer.devices 8",
    "lightning.pytorch.cli.LightningCLI": "start it with --trainer.accelerator npu --trainer.devices 8",
    "trl.SFTTrainer": "start it with `torchrun --nproc_per_node 8`: the Trainer does the rest",
    "accelerate.Accelerator": "start it with `accelerate launch --num_processes 8`: the Accelerator does the rest",
    "mmengine.runner.Runner": 'give the Runner launcher="pytorch", and start it with torchrun',
    "mmengine.runner.Runner.from_cfg": 'set cfg.launcher = "pytorch", and start it with torchrun',
    "ignite.distributed.Parallel": 'idist.Parallel(backend="hccl", nproc_per_node=8)',
    "composer.Trainer": "start it with `composer -n 8`",
    "fastai.distributed.distrib_ctx": "start it with `accelerate launch --num_processes 8`",
}
HELPER = "npu_distributed"


def refuse_at_sight(program: Program, draft: Draft) -> bool:
    """Say what speaks against a conversion and is seen without following anything; False where nothing does."""
    for unit in program.units:
        for node in unit.nodes:
            _refuse_node(node, unit, draft)
    _refuse_several_cards(program, draft)
    _refuse_environments(program, draft)
    return bool(draft.findings)


def refuse(program: Program, loops: Loops, draft: Draft) -> bool:
    """Say what else speaks against a conversion; False where nothing does."""
    for unit in program.units:
        for node in unit.nodes:
            _refuse_shared_model(node, unit, program, draft)
    _refuse_steps_of_environments(loops, draft)
    if not draft.findings and not loops.backwards:
        draft.left(
            "NPU395",
            program.entry,
            program.entry.source.tree,
            "no training was found: neither this file nor a project file that it imports calls backward()",
            "specify the training entry point with --entry",
        )
    return bool(draft.findings)


def _refuse_node(node: ast.AST, unit: Unit, draft: Draft) -> None:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        _refuse_import(node, unit, draft)
    elif isinstance(node, (ast.For, ast.While)):
        _refuse_process_for_each_card(node, unit, draft)
    elif isinstance(node, ast.ClassDef):
        _refuse_class(node, unit, draft)
    elif isinstance(node, ast.Call):
        _refuse_call(node, unit, draft)


def _refuse_import(node: ast.Import | ast.ImportFrom, unit: Unit, draft: Draft) -> None:
    names = [alias.name for alias in node.names]
    module = getattr(node, "module", None) or ""
    if HELPER in (*names, module.rpartition(".")[2]):
        message = "the program was already converted by npuify"
        draft.left("NPU392", unit, node, message, "convert the original again, with other options")
    elif any(one.split(".")[0] == "horovod" for one in (*names, module)):
        advice = "Horovod does not support NPUs: remove its calls, and convert the single-card program"
        draft.left("NPU392", unit, node, "the program is distributed by Horovod", advice)


def _refuse_class(node: ast.ClassDef, unit: Unit, draft: Draft) -> None:
    bases = [unit.qualname(base) for base in node.bases]
    _refuse_trainer(next((base for base in bases if base in _TRAINERS), ""), node, unit, draft)
    if "torch.autograd.Function" not in bases:
        return
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and unit.qualname(call.func).startswith("torch.distributed."):
            draft.left(
                "NPU391",
                unit,
                call,
                phrase(
                    "{name} exchanges tensors between processes in its own forward or backward: also "
                    "averaging gradients would count some of them several times",
                    name=node.name,
                ),
                "decide which gradients are already averaged, and exclude their parameters from "
                "DistributedDataParallel",
            )
            return


def _refuse_call(node: ast.Call, unit: Unit, draft: Draft) -> None:
    name = unit.qualname(node.func)
    last = name.rpartition(".")[2]
    if name.startswith(("pytorch_lightning.", "lightning.")) and ".Trainer." in f"{name}.":
        name = "pytorch_lightning.Trainer"  # however it is reached, and Trainer.from_argparse_args
    if name in _GROUPS:
        message = phrase("the program is already distributed: it calls {last}()", last=last)
        advice = phrase("{MIGRATE}; `npuify distribute --complete` adds what it lacks", MIGRATE=_MIGRATE)
        draft.left("NPU392", unit, node, message, advice)
    elif name.startswith("torch.distributed.") and last not in _ASKING:
        draft.left(
            "NPU392", unit, node, phrase("the program is already distributed: it calls {name}()", name=name), _MIGRATE
        )
    elif name in _PROCESSES or (name.endswith(".Process") and "multiprocessing" in name):
        draft.left(
            "NPU393",
            unit,
            node,
            phrase("the program starts processes itself, with {last}", last=last),
            "let torchrun start the processes: call the training function once, and convert again (--complete adds "
            "what a program that joins a process group lacks)",
        )
    elif name in _TRAINERS:
        _refuse_trainer(name, node, unit, draft)
    elif any(keyword.arg == "device_map" and not _is_none(keyword.value) for keyword in node.keywords):
        message = "device_map splits one model across several cards"
        advice = "load the model without device_map; each process then has the whole model"
        draft.left("NPU394", unit, node, message, advice)


_MIGRATE: Final = "migrate it with `npuify migrate`, and start it with `npuify launch`"


def _refuse_trainer(name: str, node: ast.AST, unit: Unit, draft: Draft) -> None:
    if name:
        message = phrase("{name} itself runs on many cards, and is not rewritten", name=name)
        draft.left("NPU380", unit, node, message, _TRAINERS[name], Severity.WARNING)


def _refuse_shared_model(node: ast.AST, unit: Unit, program: Program, draft: Draft) -> None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "share_memory":
        return
    if program.models(node.func.value, unit):
        draft.left(
            "NPU393",
            unit,
            node,
            "the program's processes share one model in memory, which cards cannot",
            "use the program's single-process version",
        )


def _refuse_process_for_each_card(loop: ast.For | ast.While, unit: Unit, draft: Draft) -> None:
    """A loop that shows each of the processes that it starts another card."""
    inside = list(ast.walk(loop))
    texts = [node.value for node in inside if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    if not any("VISIBLE_DEVICES" in text for text in texts):
        return
    for node in inside:
        if isinstance(node, ast.Call) and unit.qualname(node.func) in _STARTS:
            draft.left(
                "NPU393",
                unit,
                node,
                "the program starts a process for each card itself, and only shows it that card",
                "remove the loop and call the training function, then convert again; torchrun starts a process for "
                "each card",
            )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _refuse_several_cards(program: Program, draft: Draft) -> None:
    """Two different cards by number in one program: parts of a model on several cards."""
    seen: dict[str, tuple[ast.AST, Unit]] = {}
    for unit in program.units:
        for node in unit.nodes:
            number = None
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                match = _ONE_CARD.fullmatch(node.value)
                number = match[1] if match else None
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
                first = node.args[0]
                if node.func.attr in ("npu", "cuda") and isinstance(first, ast.Constant):
                    number = str(first.value) if type(first.value) is int else None
            if number is not None:
                seen.setdefault(number, (node, unit))
    if len(seen) > 1:
        node, unit = list(seen.values())[1]
        draft.left(
            "NPU394",
            unit,
            node,
            phrase("one process uses several cards ({seen})", seen=commas(sorted(seen))),
            "put the whole model on one card, or use pipeline parallelism",
        )


def _refuse_environments(program: Program, draft: Draft) -> None:
    for unit in program.units:
        for node in unit.nodes:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            if any(name.split(".")[0] in _ENVIRONMENTS for name in names):
                draft.left(
                    "NPU390",
                    unit,
                    node,
                    "it uses reinforcement learning: how that is distributed over cards depends on the algorithm",
                    "give each process its own environments, with different seeds, and average gradients if the "
                    "algorithm allows it",
                )
                return


def _refuse_steps_of_environments(loops: Loops, draft: Draft) -> None:
    for one in loops.passes:
        if not one.trains or one.loaders:
            continue
        for node in ast.walk(one.node):
            unpacked = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)
            if unpacked and len(node.targets[0].elts) in (4, 5) and isinstance(node.value, ast.Call):  # type: ignore[attr-defined]
                called = node.value.func  # type: ignore[attr-defined]
                if isinstance(called, ast.Attribute) and called.attr == "step":
                    draft.left(
                        "NPU390",
                        one.unit,
                        node,
                        "it uses reinforcement learning",
                        "give each process its own environments, with different seeds",
                    )
                    return
