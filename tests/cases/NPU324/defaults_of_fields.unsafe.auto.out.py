from dataclasses import dataclass, field

import torch
import transformers


@dataclass
class Arguments(transformers.Seq2SeqTrainingArguments):
    optim: str = field(default="paged_adamw_32bit", metadata={"help": "the optimizer"})
    lr: float = 1e-4


@dataclass
class Fused(transformers.TrainingArguments):
    optim: str = "adamw_torch_npu_fused"


@dataclass
class Own:
    optim: str = field(default="adamw_apex_fused")


print(torch.__version__)
