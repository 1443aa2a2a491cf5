"""Calls from one installed package into another, or from a model's own code, that the other's release does not take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence

from .signatures import Match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.diagnosis.model import Frame

REFUSED: Final = re.compile(
    r"TypeError: .*(?:got an unexpected keyword argument|missing \d+ required (?:positional|keyword-only) argument"
    r"|takes \d+ positional arguments?)"
    r"|AttributeError: (?:module '(?!torch\b|torch_npu\b)[\w.]+'|type object '\w+') has no attribute"
    r"|AttributeError: '(?P<owner>[A-Z]\w*)' object has no attribute"
    r"|KeyError: '[\w-]+'$"
    r"|ImportError: cannot import name|ModuleNotFoundError: No module named 'transformers\."
)
"""What Python says of a name or an argument that the one who calls takes for granted."""

_INSTALLED: Final = re.compile(r"/(?:site|dist)-packages/(\w+)")
_REMOTE: Final = re.compile(r"/transformers_modules/|/modelscope_modules/")
"""Where Transformers and ModelScope keep the code that comes with a model."""
_OF_LIBRARIES: Final = re.compile(
    r"(?:Config|Tokenizer(?:Fast)?|Cache|Processor|ForCausalLM|Output|Arguments|Accelerator)$"
)
"""Ends of the names of classes that one library makes and others read: of Transformers and Accelerate."""
_KNOWN_CLASS: Final = re.compile(
    r"(?:Seq2Seq)?TrainingArguments|(?:Seq2Seq|SFT|RM|Reward|DPO|KTO|ORPO|PPO|GRPO|RLOO)?(?:Peft)?Trainer"
    r"|(?:Llama|Qwen\w*|Mistral|Mixtral|Bert|Roberta|GPT\w*|T5|Bart|Gemma\d*|Phi\d*|Bloom|OPT|Falcon|Deepseek\w*|ChatGLM\w*"
    r"|Baichuan|InternLM\d*|Whisper|CLIP|ViT|Peft)\w*(?:Model|For[A-Z]\w+|Config|Tokenizer(?:Fast)?|Processor|Attention|Layer)"
    r"|Auto[A-Z]\w+|(?:Dynamic|Static|EncoderDecoder)Cache|Adam|AdamW|SGD|Adagrad|RMSprop|GradScaler|DataLoader"
    r"|Accelerator(?:State)?|DeepSpeedEngine|DeepSpeedCPUAdam|LLMEngine|AsyncLLM(?:Engine)?|VllmConfig|ModelConfig"
    r"|ParallelConfig|SamplingParams|EngineArgs|AsyncEngineArgs|LoraConfig|PeftConfig"
)
"""Classes of Transformers, TRL, PEFT, Accelerate, DeepSpeed, vLLM and torch, by their whole names."""
_LIBRARY_CLASS: Final = re.compile(
    r"[A-Z]\w*(?:RotaryEmbedding|(?:2D|3D|Transformer|Condition|Adapter)Model|DecoderLayer|EncoderLayer"
    r"|(?:Sdpa|Flash\w*|Self|Cross)Attention"
    r"|ForCausalLM|ForConditionalGeneration|ForSequenceClassification|ForTokenClassification|Pipeline|Scheduler"
    r"|TokenizerFast|ImageProcessor|FeatureExtractor|TrainerCallback|ProcessGroup\w*)"
)
"""Classes that are Transformers', Diffusers' or torch's by the ends of their names."""
_CALLED: Final = re.compile(
    r"TypeError: (?P<owner>[A-Z]\w*)\.\w+\(\) got an unexpected keyword argument '(?P<argument>\w+)'"
)
_INSIDE_NUMPY: Final = re.compile(
    r"AttributeError: module 'numpy(?:\.\w+)*' has no attribute '_\w+'|AttributeError: module 'numpy\.\w+\._\w+' has no"
)
"""Names that only NumPy's own modules ask each other for."""
_HOOK: Final = re.compile(
    r"TypeError: (?P<owner>\w*Trainer)\.(?P<hook>compute_loss|_?training_step|prediction_step"
    r"|evaluation_loop|evaluate|predict"
    r"|_save_checkpoint|save_model|_save|_load_\w+|log|_maybe_log_save_evaluate|create_optimizer(?:_and_scheduler)?"
    r"|create_scheduler|get_\w+_(?:dataloader|sampler)|_get_\w+_sampler|_inner_training_loop"
    r"|_prepare_inputs|floating_point_ops"
    r"|_wrap_model|get_batch_samples)"
    r"\(\) (?:got an unexpected keyword argument|takes \d+ positional arguments?|missing \d+ required)"
)
"""Methods of Transformers' Trainer that programs write anew, and that its releases call with other arguments."""
_OF_TRANSFORMERS: Final = re.compile(
    r"got an unexpected keyword argument '(?:position_ids|past_key_values?|past_key_value_states"
    r"|attention_mask|use_cache"
    r"|cache_position|num_items_in_batch|token_type_ids|head_mask|inputs_embeds|output_attentions|output_hidden_states"
    r"|return_dict|position_embeddings|logits_to_keep|num_logits_to_keep|encoder_hidden_states|encoder_attention_mask"
    r"|torch_dtype|attn_implementation|use_flash_attention_2|trust_remote_code|eval_strategy|evaluation_strategy"
    r"|processing_class|use_auth_token|_fast_init|is_gradient_checkpointing|dispatch_batches|even_batches"
    r"|keep_torch_compile"
    r"|load_in_8bit|load_in_4bit|quantization_config|proxies|dtype)'"
)
"""Arguments that Transformers, or what is built on it, gives to functions of other packages or of models."""
_PASSES_ON: Final = {
    "torch",
    "torch_npu",
    "accelerate",
    "hydra",
    "fire",
    "click",
    "typer",
    "pytorch_lightning",
    "lightning",
}
"""Packages that call what the program gives them, with the arguments that it gives."""


def refused_match(text: str, frames: Sequence[Frame]) -> Match | None:
    """What it says that a call inside of packages is refused; None where the program's own code made the call.

    Args:
        text: a line, usually the exception that ended a traceback.
        frames: the traceback's frames; without them nothing is known.
    """
    found = REFUSED.search(text)
    if found is None:
        return None
    called = _CALLED.search(text)
    hook = _HOOK.search(text)
    if hook is not None:
        return _of_hook(hook)
    if _INSIDE_NUMPY.search(text):
        return _of_numpy()
    if not frames and _OF_TRANSFORMERS.search(text):
        return _of_argument()
    if not frames:
        return _of_library(found["owner"] or "") or _of_called(called)
    caller = _caller(frames)
    if _REMOTE.search(caller) and "KeyError" not in text:
        return _match(
            phrase("The code that comes with the model was written for another release of Transformers."),
            phrase(
                "Install the release of Transformers that the model's page or its config.json (transformers_version) "
                "names, or load the model without trust_remote_code where the library has it by now."
            ),
            weight=74,
        )
    if "KeyError" in text:
        return _unknown_model() if "/transformers/models/auto/" in caller else None
    installed = _INSTALLED.search(caller)
    if installed is None or installed[1] in _PASSES_ON:
        told = _of_called(called)
        if told is not None:
            return told
    if installed is None or installed[1] in _PASSES_ON or "cannot import name" in text:
        return None
    if found["owner"] and not _OF_LIBRARIES.search(found["owner"]):
        return _of_library(found["owner"]) or _of_stranger(found["owner"], installed[1])
    return _match(
        phrase(
            "The package {package} calls another one in a way that the installed release does not take.",
            package=installed[1],
        ),
        phrase("Install the releases that belong together: those that {package} pins.", package=installed[1]),
        weight=50,
    )


def _caller(frames: Sequence[Frame]) -> str:
    """The file that asked: what torch's modules do when they are called, or asked for an attribute, is passed by."""
    files = [frame.file.replace("\\", "/") for frame in frames]
    return next((file for file in reversed(files) if not file.endswith("/torch/nn/modules/module.py")), files[-1])


def _of_library(owner: str) -> Match | None:
    """What it says that a class lacks an attribute, where nothing tells who asked; None for other than known ones."""
    if not (_KNOWN_CLASS.fullmatch(owner) or _LIBRARY_CLASS.fullmatch(owner)):
        return None
    return _match(
        phrase(
            "{owner} is a class of a library; the installed release of it does not have that attribute.", owner=owner
        ),
        phrase("Install the releases that belong together: those that the project which asks for it pins."),
        weight=40,
    )


_PLAIN: Final = re.compile(
    r"NoneType|Namespace|DataFrame|Series|Index|Tensor|Parameter|Image|Config|DictConfig|ListConfig|AttrDict|EasyDict"
    r"|Dict|List|Path|PosixPath|Thread|Process|Connection|Response|Generator|Sequential|ModuleList|Linear|Box|Discrete"
)
"""Classes that programs hand to libraries by mistake."""


def _of_stranger(owner: str, package: str) -> Match | None:
    """What it says that a package asks an object of a class that nothing tells about for what it does not have."""
    if _PLAIN.fullmatch(owner):
        return None
    return _match(
        phrase(
            "The package {package} asks a {owner} for what it does not have: usually the package was written for "
            "another release of the library that makes it; less often the program hands it something of another kind.",
            package=package,
            owner=owner,
        ),
        phrase("Install the releases that belong together: those that {package} pins.", package=package),
        weight=41,
    )


def _of_called(called: re.Match[str] | None) -> Match | None:
    """What it says that a call refuses an argument, by the class that was called; None for others.

    Many programs have a Trainer of their own, and misspell its arguments.
    """
    if (
        called is None
        or called["owner"] == "Trainer"
        or not (_KNOWN_CLASS.fullmatch(called["owner"]) or _LIBRARY_CLASS.fullmatch(called["owner"]))
    ):
        return None
    return _match(
        phrase(
            "{owner} is a class of a library; the installed release of it does not take the argument {argument}.",
            owner=called["owner"],
            argument=called["argument"],
        ),
        phrase("Install the releases that belong together: those that the project which asks for it pins."),
        weight=42,
    )


def _of_hook(hook: re.Match[str]) -> Match:
    """What it says that a method of a Trainer is called with arguments of another release."""
    return _match(
        phrase(
            "Transformers calls {hook} of its Trainer, which {owner} has written anew for another release.",
            hook=hook["hook"],
            owner=hook["owner"],
        ),
        phrase(
            "Install the Transformers that the project pins, or give {hook} the arguments of the installed one "
            "(**kwargs takes any).",
            hook=hook["hook"],
        ),
        weight=50,
    )


def _of_numpy() -> Match:
    """What it says that one of NumPy's modules lacks a name that another of them asks for."""
    return _match(
        phrase("Files of two releases of NumPy are mixed: one was installed over the other, or while the program ran."),
        phrase("Restart the notebook or program; if it stays, uninstall numpy until pip finds none, then install one."),
        weight=60,
    )


def _of_argument() -> Match:
    """What it says that a function refuses an argument that Transformers gives."""
    return _match(
        phrase("The argument is one that Transformers gives, and the function that is called is of another release."),
        phrase("Install the Transformers that the project, or the model's config.json, was made with."),
        weight=40,
    )


def _unknown_model() -> Match:
    """What it says that the table of models of Transformers lacks a key."""
    return _match(
        phrase("The installed Transformers does not know this kind of model: it is older than the model."),
        phrase("Install the Transformers that the model's config.json names (transformers_version), or a later one."),
        weight=74,
    )


def _match(why: str, fix: str, *, weight: int) -> Match:
    return Match(
        name="call-refused",
        meaning=why,
        cause="version-mismatch",
        role="cause",
        weight=weight,
        evidence=Evidence.ASSUMED,
        source="docs.python.org/3/library/exceptions.html; where the traceback ends",
        why=why,
        fix=fix,
    )
