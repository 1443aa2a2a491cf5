"""The stacks around PyTorch: their options and settings, and what is said of them."""

from __future__ import annotations

import pytest

from npuify.knowledge.explain.names import explain_name
from npuify.knowledge.frameworks.stacks import Spelling, stack_programs, stack_rows, stacks

from ...harness import findings, output

NAMED = (
    *("transformers", "accelerate", "peft", "trl", "diffusers", "datasets", "deepspeed", "megatron-core", "lightning"),
    *("mmengine", "mmcv", "ray", "verl", "openrlhf", "llamafactory", "ms-swift", "ultralytics", "sglang"),
    *("onnxruntime", "tensorrt", "tritonserver", "bitsandbytes", "unsloth"),
)


@pytest.mark.parametrize("name", NAMED)
def test_each_stack_says_what_it_needs_what_stays_and_what_is_refused(name: str) -> None:
    said = explain_name(name)
    assert said is not None
    assert said.kind == "stack"
    text = "\n".join(said.text)
    row = stacks()[name]
    assert all(part in text for part in (*row.set, *row.changes, *row.stays, *row.refused))
    assert row.since in text
    if row.support == "native":
        assert row.set


def test_an_option_is_explained() -> None:
    said = explain_name("--page-size")
    assert said is not None
    assert "128" in said.text[0]


def test_rows_name_stacks_that_are_in_the_table() -> None:
    for program in stack_programs():
        assert program.stack.lower() in stacks()
        rows = stack_rows(program.stack)
        assert rows
        spelled: set[Spelling] = {one for row in rows for one in row.spelled}
        assert ("python" in spelled) == bool(program.calls)
        assert ("setting" in spelled) == bool(program.keys)
        for row in rows:
            assert (row.action in ("set", "add")) == bool(row.becomes), row


SGLANG = "python -m sglang.launch_server --model-path m"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{SGLANG} --device cuda\n", f"{SGLANG} --device npu\n"),
        (f"{SGLANG} --attention-backend=flashinfer\n", f"{SGLANG} --attention-backend=ascend\n"),
        (f"{SGLANG} \\\n  --page-size 16 \\\n  --tp 2\n", f"{SGLANG} \\\n  --page-size 128 \\\n  --tp 2\n"),
        (f'ARGS="--page-size 16"\n{SGLANG} $ARGS\n', f'ARGS="--page-size 128"\n{SGLANG} $ARGS\n'),
        ("sglang serve m --kv-cache-dtype fp8_e5m2\n", "sglang serve m --kv-cache-dtype auto\n"),
        (
            "python3 -m verl.trainer.main_ppo trainer.device=cuda actor.model.use_liger=True trainer.n_gpus_per_node=8\n",
            "python3 -m verl.trainer.main_ppo trainer.device=npu actor.model.use_liger=False trainer.n_gpus_per_node=8\n",
        ),
        ("yolo detect train device=0,1 batch=8\n", "yolo detect train device=npu:0,1 batch=8\n"),
        ("yolo predict device=0\n", "yolo predict device=npu:0\n"),
        ("export DS_ACCELERATOR=cuda\ndeepspeed t.py\n", "export DS_ACCELERATOR=npu\ndeepspeed t.py\n"),
    ],
)
def test_options_of_a_stack_get_its_words_for_an_npu(before: str, after: str) -> None:
    assert output(before, unsafe=True, name="run.sh") == after
    assert output(after, unsafe=True, name="run.sh") == after


@pytest.mark.parametrize(
    "text",
    [
        f"{SGLANG} --attention-backend ascend --page-size 128 --cuda-graph-max-bs 32 --mem-fraction-static 0.8\n",
        "torchrun --nproc_per_node 8 pretrain_gpt.py --transformer-impl transformer_engine --distributed-backend nccl\n",
        "ARGS='--distributed-backend nccl'\ntorchrun p.py --tensor-model-parallel-size 2 $ARGS\n",
        "python mine.py --page-size 16 --attention-backend fa3 --device-count 2\n",
        "python tools/yolo.py device=0\n",
        "yolo train device=cpu\n",
        "llamafactory-cli train a.yaml quantization_bit=4\n",
    ],
)
def test_what_is_right_or_another_programs_stays(text: str) -> None:
    assert output(text, unsafe=True, name="run.sh") == text


def told(text: str, name: str) -> list[str]:
    return [one.subject for one in findings(text, name=name)]


def test_what_has_no_form_is_told() -> None:
    line = "torchrun p.py --tensor-model-parallel-size 2 --fp8-format hybrid --tp-comm-overlap --distributed-backend nccl\n"
    assert told(line, "run.sh") == [
        "Megatron-LM: fp8_format",
        "Megatron-LM: tp_comm_overlap",
        "Megatron-LM: distributed_backend",
    ]
    assert told("swift sft --quant_method bnb --quant_bits 4\n", "run.sh") == ["ms-swift: quant_method"]
    assert told("trtexec --onnx=a.onnx\n", "run.sh") == ["trtexec"]


def test_a_file_of_settings_is_a_stacks_where_its_keys_say_so() -> None:
    mine = "stage: sft\nfinetuning_type: lora\ntemplate: qwen\nquantization_bit: 4\nuse_unsloth: true\n"
    assert told(mine, "train.yaml") == ["LLaMA-Factory: quantization_bit", "LLaMA-Factory: use_unsloth"]
    assert told("stage: sft\nquantization_bit: 4\ndevice: cuda\n", "train.yaml") == ["cuda"]
    assert told("stage: sft\nfinetuning_type: lora\nuse_unsloth: false\n", "train.yaml") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "python3 -m verl.trainer.main_ppo data.n=8\n",
            "python3 -m verl.trainer.main_ppo data.n=8 trainer.device=npu\n",
        ),
        (
            "python3 -m verl.trainer.main_ppo \\\n    data.n=$N \\\n    x=1 $@ 2>&1 | tee log\n",
            "python3 -m verl.trainer.main_ppo \\\n    data.n=$N \\\n    x=1 trainer.device=npu $@ 2>&1 | tee log\n",
        ),
        ("yolo detect train data=coco8.yaml\n", "yolo detect train data=coco8.yaml device=npu:0\n"),
    ],
)
def test_a_device_that_has_to_be_said_is_written(before: str, after: str) -> None:
    assert output(before, unsafe=True, name="run.sh") == after
    assert output(after, unsafe=True, name="run.sh") == after


@pytest.mark.parametrize(
    "text",
    [
        "python3 -m verl.trainer.main_ppo trainer.device=cpu\n",
        'OPTIONS="trainer.device=npu x=1"\npython3 -m verl.trainer.main_ppo $OPTIONS\n',
        "yolo train device=cpu\n",
        "yolo checks\n",
        "yolo train cfg=mine.yaml\n",
    ],
)
def test_one_that_is_said_or_may_be_is_not(text: str) -> None:
    assert output(text, unsafe=True, name="run.sh") == text
    assert told(text, "run.sh") == []


def test_options_that_a_variable_may_hold_are_told() -> None:
    text = 'A=(data.n=1)\npython3 -m verl.trainer.main_ppo "${A[@]}"\n'
    assert output(text, unsafe=True, name="run.sh") == text
    assert told(text, "run.sh") == ["verl: trainer.device"]


def test_openrlhf() -> None:
    text = "deepspeed --module openrlhf.cli.train_sft --flash_attn --packing_samples --load_in_4bit --zero_stage 3\n"
    assert told(text, "run.sh") == ["OpenRLHF: flash_attn", "OpenRLHF: packing_samples", "OpenRLHF: load_in_4bit"]
    assert told("python mine.py --flash_attn --packing_samples\n", "run.sh") == []


def test_the_rest_of_sglang() -> None:
    line = f"{SGLANG} --lora-backend triton --hicache-io-backend kernel --load-format gguf\n"
    assert output(line, unsafe=True, name="run.sh") == (
        f"{SGLANG} --lora-backend ascend --hicache-io-backend kernel_ascend --load-format auto\n"
    )
    line = f"{SGLANG} --enable-mscclpp --nsa-prefill-backend x --moe-a2a-backend deepep --load-format auto\n"
    assert told(line, "run.sh") == ["SGLang: enable_mscclpp", "SGLang: nsa_prefill_backend", "SGLang: moe_a2a_backend"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("load_in_4bit: true\n", "recipes/qlora.yaml"),
        ("optim: paged_adamw_32bit\n", "recipes/qlora.yaml"),
        ("python t.py --load_in_8bit True\n", "t.sh"),
        ('{"load_in_4bit": true}\n', "config.json"),
    ],
)
def test_settings_of_bitsandbytes(text: str, name: str) -> None:
    assert [one.code for one in findings(text, name=name)] == ["NPU733"]
    assert findings(text.replace("true", "false").replace("True", "False").replace("paged_", ""), name=name) == []


@pytest.mark.parametrize("device", ["--device cuda", "--device=cuda"])
def test_whisper_ctranslate2_has_no_word_for_an_npu(device: str) -> None:
    text = f"whisper-ctranslate2 a.wav --model medium {device}\n"
    assert output(text, unsafe=True, name="run.sh") == text
    assert told(text, "run.sh") == ["whisper-ctranslate2: device"]
    assert told("whisper-ctranslate2 a.wav --device cpu\n", "run.sh") == []
