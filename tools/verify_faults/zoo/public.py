"""Models of public projects, made from copies of them: read where they lie, nothing of them is here.

``NPUIFY_ZOO`` names the folder with the projects, each under its own name; ``transformers``, ``diffusers`` and
what timm needs have to be importable.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import nn
from torch.nn import functional

from .own import classes_loss, images, sentences, tokens_loss
from .subject import Subject, single

if TYPE_CHECKING:
    from collections.abc import Callable

CORPUS = Path(os.environ.get("NPUIFY_ZOO", "/nowhere"))


def _module(folder: str, name: str) -> Any:
    path = str(CORPUS / folder)
    if not Path(path).is_dir():
        raise FileNotFoundError(path)
    sys.path.insert(0, path)
    return importlib.import_module(name)


def _guessing(
    model: nn.Module, words: int, length: int = 16, take: Callable[[Any], Any] = lambda given: given
) -> Subject:
    return Subject(
        [model], [sentences(48, length + 1, words)],
        single(lambda model, x: tokens_loss(take(model(x[:, :-1])), x[:, 1:])),
    )  # fmt: skip


def _classifying(model: nn.Module, size: int = 32, **how: Any) -> Subject:
    return Subject([model], images(36, size), single(classes_loss), **how)


def nano_gpt() -> Subject:
    module = _module("nanoGPT", "model")
    model = module.GPT(module.GPTConfig(16, 61, 2, 4, 32, 0.1, False))

    def loss(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return model(x[:, :-1].contiguous(), x[:, 1:].contiguous())[1]

    return Subject([model], [sentences(48, 17, 61)], single(loss))


def min_gpt() -> Subject:
    module = _module("minGPT", "mingpt.model")
    config = module.GPT.get_default_config()
    config.model_type, config.n_layer, config.n_head, config.n_embd = None, 2, 4, 32
    config.vocab_size, config.block_size = 61, 16
    return _guessing(module.GPT(config), 61, take=lambda given: given[0])


def milesial_unet() -> Subject:
    model = _module("Pytorch-UNet", "unet").UNet(3, 4, bilinear=True)
    pictures, _ = images(12, 32)
    loss = single(lambda model, x, y: functional.cross_entropy(model(x).float(), y))
    return Subject([model], [pictures, (pictures.sum(1) * 2).long() % 4], loss, batch=2, adam=False, rate=0.01)


def _cifar(name: str, *arguments: Any) -> Callable[[], Subject]:
    def made() -> Subject:
        model = getattr(_module("pytorch-cifar", "models"), name)(*arguments)
        return _classifying(model, adam=False, rate=0.05)

    return made


def attention_is_all() -> Subject:
    module = _module("attention-is-all-you-need-pytorch", "transformer.Models")
    model = module.Transformer(
        50, 50, 0, 0, d_word_vec=32, d_model=32, d_inner=64, n_layers=2, n_head=4, d_k=8, d_v=8, n_position=20
    )
    source, target = sentences(48, 10, 49) + 1, sentences(48, 9, 49) + 1
    source = source.masked_fill(torch.arange(10)[None, :] >= torch.randint(6, 11, (48, 1)), 0)
    loss = single(lambda model, x, y: functional.cross_entropy(model(x, y[:, :-1]).float(), y[:, 1:].flatten()))
    return Subject([model], [source, target], loss)


def dit() -> Subject:
    _timm()
    module = _module("DiT", "models")
    model = module.DiT(8, 2, 4, 48, 2, 4, num_classes=10, learn_sigma=False)
    nn.init.normal_(model.final_layer.linear.weight, std=0.05)
    for block in model.blocks:
        nn.init.normal_(block.adaLN_modulation[-1].weight, std=0.05)

    def loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        when = torch.randint(0, 1000, (len(x),), device=x.device)
        noise = torch.randn_like(x)
        return functional.mse_loss(model(x + noise, when, y).float(), noise.float())

    return Subject([model], images(36, 8, 4), single(loss))


def lit_gpt() -> Subject:
    for name in ("litgpt", "litgpt.scripts"):
        package = sys.modules[name] = types.ModuleType(name)
        package.__path__ = [str(CORPUS / "litgpt" / Path(*name.split(".")))]
    weights = sys.modules["litgpt.scripts.convert_hf_checkpoint"] = types.ModuleType("convert")
    weights.qkv_reassemble = None  # type: ignore[attr-defined]
    module = _module("litgpt", "litgpt.model")
    config = module.Config(
        block_size=16, vocab_size=61, padded_vocab_size=61, n_layer=2, n_head=4, n_embd=32, n_query_groups=2,
        norm_class_name="RMSNorm", mlp_class_name="LLaMAMLP", intermediate_size=64, rotary_percentage=1.0,
        parallel_residual=False, bias=False,
    )  # fmt: skip
    return _guessing(module.GPT(config), 61)


def guided_diffusion() -> Subject:
    sys.modules.setdefault("blobfile", types.ModuleType("blobfile"))
    module = _module("guided-diffusion", "guided_diffusion.unet")
    model = module.UNetModel(
        16, 3, 32, 3, 1, (2,), 0.1, (1, 2), num_classes=10, num_heads=2, use_scale_shift_norm=True, use_checkpoint=True
    )
    for part in model.modules():
        if isinstance(part, (nn.Conv2d, nn.Conv1d)) and not part.weight.any():
            nn.init.normal_(part.weight, std=0.05)

    def loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        when = torch.randint(0, 1000, (len(x),), device=x.device)
        noise = torch.randn_like(x)
        return functional.mse_loss(model(x + noise, when, y).float(), noise.float())

    return Subject([model], images(24, 16), single(loss), batch=2)


def _words(kind: str) -> Callable[[], Subject]:
    def made() -> Subject:
        model = _module("examples/word_language_model", "model").RNNModel(kind, 50, 32, 32, 2, 0.2, True)

        def loss(model: Any, x: torch.Tensor) -> torch.Tensor:
            x = x.t().contiguous()
            scores, _ = model(x[:-1], model.init_hidden(x.shape[1]))
            return functional.nll_loss(scores.float(), x[1:].flatten())

        return Subject([model], [sentences(48, 14, 50)], single(loss), adam=False, rate=1.0)

    return made


def words_transformer() -> Subject:
    model = _module("examples/word_language_model", "model").TransformerModel(50, 32, 4, 64, 2, 0.2)

    def loss(model: Any, x: torch.Tensor) -> torch.Tensor:
        x = x.t().contiguous()
        return functional.nll_loss(model(x[:-1]).float().flatten(0, 1), x[1:].flatten())

    return Subject([model], [sentences(48, 14, 50)], single(loss))


def super_resolution() -> Subject:
    model = _module("examples/super_resolution", "model").Net(2)
    whole, _ = images(24, 24, 1)
    small = functional.avg_pool2d(whole, 2)
    return Subject(
        [model], [small, whole], single(lambda model, x, y: functional.mse_loss(model(x).float(), y.float()))
    )


def style_transfer() -> Subject:
    model = _module("examples/fast_neural_style/neural_style", "transformer_net").TransformerNet()
    loss = single(lambda model, x: functional.l1_loss(model(x).float(), x.flip(1).float()))
    return Subject([model], [images(12, 24)[0]], loss, batch=2)


def attention_graph() -> Subject:
    _absent("requests")
    model = _module("examples/gat", "main").GAT(12, 24, 4, 5, dropout=0.2)
    values, near = torch.randn(12, 20, 12), (torch.rand(12, 20, 20) < 0.2).float() + torch.eye(20)
    labels = values.sum(-1).long() % 5

    def loss(model: nn.Module, x: torch.Tensor, e: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.nll_loss(model(x[0], e[0]).float(), y[0])

    return Subject([model], [values, near.clamp(max=1), labels], single(loss), batch=1, rate=5e-3)


def _timm() -> None:
    """timm, with a stand-in for the little of torchvision that its models ask for."""
    if "torchvision" not in sys.modules and importlib.util.find_spec("torchvision") is None:

        class Named(type):
            def __getattr__(cls, name: str) -> str:
                if name.startswith("__"):
                    raise AttributeError(name)
                return name

        class Anything(types.ModuleType):
            __path__: ClassVar[list[str]] = []

            def __getattr__(self, name: str) -> Any:
                if name.startswith("__"):
                    raise AttributeError(name)
                return Named(name, (), {})

        for name in (
            "", ".datasets", ".datasets.folder", ".transforms", ".transforms.functional", ".ops", ".ops.misc",
            ".models", ".models.feature_extraction", ".utils", ".io",
        ):  # fmt: skip
            module = sys.modules[f"torchvision{name}"] = Anything(f"torchvision{name}")
            module.__version__ = "0.28.0"  # type: ignore[attr-defined]
            parent, _, last = f"torchvision{name}".rpartition(".")
            if parent:
                setattr(sys.modules[parent], last, module)
    sys.path.insert(0, str(CORPUS / "pytorch-image-models"))


def _absent(name: str) -> None:
    if name not in sys.modules and importlib.util.find_spec(name) is None:
        sys.modules.setdefault(name, types.ModuleType(name))


def _vision(name: str, size: int = 32, **how: Any) -> Callable[[], Subject]:
    def made() -> Subject:
        _timm()
        timm = importlib.import_module("timm")
        return _classifying(timm.create_model(name, num_classes=10, **how), size)

    return made


def _language(kind: str, take: str = "logits", **how: Any) -> Callable[[], Subject]:
    """A small model of the library transformers."""

    def made() -> Subject:
        library = importlib.import_module("transformers")
        model = getattr(library, kind)
        config = model.config_class(vocab_size=61, bos_token_id=0, eos_token_id=0, pad_token_id=None, **how)
        return _guessing(model(config), 61, take=lambda given: getattr(given, take))

    return made


_LLAMA: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "use_cache": False,
}  # fmt: skip
_BERT: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 64,
}  # fmt: skip


def t5() -> Subject:
    library = importlib.import_module("transformers")
    config = library.T5Config(
        vocab_size=50, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, pad_token_id=0, decoder_start_token_id=0,
        feed_forward_proj="gated-gelu",
    )  # fmt: skip
    source, target = sentences(48, 10, 49) + 1, sentences(48, 8, 49) + 1
    source = source.masked_fill(torch.arange(10)[None, :] >= torch.randint(6, 11, (48, 1)), 0)

    def loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return tokens_loss(model(input_ids=x, attention_mask=x != 0, labels=y).logits, y)

    return Subject([library.T5ForConditionalGeneration(config)], [source, target], single(loss))


def bert() -> Subject:
    library = importlib.import_module("transformers")
    model = library.BertForMaskedLM(library.BertConfig(vocab_size=61, **_BERT))
    words = sentences(48, 14, 60) + 1
    words = words.masked_fill(torch.arange(14)[None, :] >= torch.randint(8, 15, (48, 1)), 0)

    def loss(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return tokens_loss(model(input_ids=x, attention_mask=(x != 0).long()).logits, x)

    return Subject([model], [words], single(loss))


def whisper() -> Subject:
    library = importlib.import_module("transformers")
    config = library.WhisperConfig(
        vocab_size=50, num_mel_bins=8, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_source_positions=16,
        max_target_positions=16, pad_token_id=0, bos_token_id=0, eos_token_id=0, decoder_start_token_id=0,
        suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip
    sound, words = torch.randn(36, 8, 32), sentences(36, 9, 50)

    def loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return tokens_loss(model(input_features=x, decoder_input_ids=y[:, :-1]).logits, y[:, 1:])

    return Subject([library.WhisperForConditionalGeneration(config)], [sound, words], single(loss))


def diffusers_unet() -> Subject:
    library = importlib.import_module("diffusers")
    model = library.UNet2DModel(
        16, 3, 3, block_out_channels=(16, 32), layers_per_block=1, norm_num_groups=4, attention_head_dim=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip

    def loss(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        when = torch.randint(0, 1000, (len(x),), device=x.device)
        noise = torch.randn_like(x)
        return functional.mse_loss(model(x + noise, when).sample.float(), noise.float())

    return Subject([model], [images(24, 16)[0]], single(loss), batch=2)


def diffusers_autoencoder() -> Subject:
    library = importlib.import_module("diffusers")
    model = library.AutoencoderKL(
        block_out_channels=(16, 32), norm_num_groups=4, sample_size=16, latent_channels=2,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    loss = single(lambda model, x: functional.mse_loss(model(x).sample.float(), x.float()))
    return Subject([model], [images(24, 16)[0]], loss, batch=2)


def tacotron() -> Subject:
    """The decoder's parts are in files that ask for sound libraries; its convolutions and LSTM are the encoder."""
    sys.modules["layers"] = layers = types.ModuleType("layers")
    sys.modules["utils"] = utils = types.ModuleType("utils")

    class Linear(nn.Module):
        def __init__(self, taken: int, given: int, bias: bool = True, w_init_gain: str = "") -> None:
            super().__init__()
            self.linear_layer = nn.Linear(taken, given, bias)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear_layer(x)

    class Conv(nn.Module):
        def __init__(self, taken: int, given: int, kernel_size: int = 1, **how: Any) -> None:
            super().__init__()
            how.pop("w_init_gain", None)
            how["padding"] = how.get("padding") or (kernel_size - 1) // 2
            self.conv = nn.Conv1d(taken, given, kernel_size, **how)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.conv(x)

    layers.ConvNorm, layers.LinearNorm = Conv, Linear  # type: ignore[attr-defined]
    utils.to_gpu = lambda x: x  # type: ignore[attr-defined]
    utils.get_mask_from_lengths = lambda lengths: (
        torch.arange(  # type: ignore[attr-defined]
            int(lengths.max()), device=lengths.device
        )
        < lengths.unsqueeze(1)
    )
    module = _module("tacotron2", "model")
    how = types.SimpleNamespace(
        n_mel_channels=8, n_frames_per_step=1, encoder_embedding_dim=32, encoder_n_convolutions=2,
        encoder_kernel_size=5, attention_rnn_dim=32, decoder_rnn_dim=32, prenet_dim=16, max_decoder_steps=20,
        gate_threshold=0.5,
        p_attention_dropout=0.1, p_decoder_dropout=0.1, attention_dim=16, attention_location_n_filters=4,
        attention_location_kernel_size=5, postnet_embedding_dim=16, postnet_kernel_size=5, postnet_n_convolutions=3,
        mask_padding=True, fp16_run=False, n_symbols=40, symbols_embedding_dim=32,
    )  # fmt: skip
    text, mel = sentences(24, 9, 40), torch.randn(24, 8, 7)

    def loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        lengths = torch.full((len(x),), x.shape[1], device=x.device), torch.full((len(x),), 7, device=x.device)
        made, after, *_ = model((x, lengths[0], y, x.shape[1], lengths[1]))
        return functional.mse_loss(made.float(), y.float()) + functional.mse_loss(after.float(), y.float())

    return Subject([module.Tacotron2(how)], [text, mel], single(loss))


SUBJECTS = {
    "nanoGPT": nano_gpt,
    "minGPT": min_gpt,
    "Pytorch-UNet": milesial_unet,
    "pytorch-cifar LeNet": _cifar("LeNet"),
    "pytorch-cifar MobileNetV2": _cifar("MobileNetV2"),
    "pytorch-cifar PreActResNet18": _cifar("PreActResNet18"),
    "pytorch-cifar ShuffleNetV2": _cifar("ShuffleNetV2", 0.5),
    "attention-is-all-you-need": attention_is_all,
    "DiT": dit,
    "litgpt": lit_gpt,
    "guided-diffusion": guided_diffusion,
    "examples words LSTM": _words("LSTM"),
    "examples words GRU": _words("GRU"),
    "examples words transformer": words_transformer,
    "examples super resolution": super_resolution,
    "examples style": style_transfer,
    "examples gat": attention_graph,
    "tacotron2": tacotron,
    "timm vit": _vision("vit_tiny_patch16_224", img_size=32, patch_size=8, embed_dim=48, depth=2, num_heads=4),
    "timm convnext": _vision("convnext_atto"),
    "timm swin": _vision(
        "swin_tiny_patch4_window7_224", 56, img_size=56, embed_dim=24, depths=(2, 2), num_heads=(2, 4)
    ),
    "timm ghostnet": _vision("ghostnet_050"),
    "timm efficientnet": _vision("efficientnet_b0"),
    "timm mobilenetv3": _vision("mobilenetv3_small_050"),
    "transformers GPT2": _language("GPT2LMHeadModel", n_embd=32, n_layer=2, n_head=4, n_positions=32),
    "transformers Llama": _language("LlamaForCausalLM", **_LLAMA),
    "transformers Qwen2": _language("Qwen2ForCausalLM", **_LLAMA),
    "transformers Mixtral": _language("MixtralForCausalLM", **_LLAMA, num_local_experts=4),
    "transformers Mamba": _language("MambaForCausalLM", hidden_size=32, num_hidden_layers=2, state_size=8),
    "transformers T5": t5,
    "transformers Bert": bert,
    "transformers Whisper": whisper,
    "diffusers UNet2D": diffusers_unet,
    "diffusers AutoencoderKL": diffusers_autoencoder,
}
