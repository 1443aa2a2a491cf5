"""The codes of what a conversion finds and does, NPU350 to NPU399."""

from __future__ import annotations

from typing import NamedTuple

from npuify.model import Evidence, Severity


class Code(NamedTuple):
    """What a code stands for. ``severity`` is that of a finding that is left to a person."""

    name: str
    severity: Severity
    summary: str


PYTORCH = "PyTorch's documentation of torch.distributed, DistributedDataParallel and DistributedSampler"
EVIDENCE = Evidence.DOCUMENTED

CODES = {
    "NPU350": Code("no-process-group", Severity.ERROR, "The process takes its card and joins the others."),
    "NPU351": Code("model-not-wrapped", Severity.ERROR, "Gradients are averaged over the processes."),
    "NPU352": Code("unused-parameters", Severity.INFO, "Some parameters may get no gradient in a step."),
    "NPU353": Code("training-data-not-shared-out", Severity.ERROR, "Each process trains on its own samples."),
    "NPU354": Code("epoch-not-set", Severity.WARNING, "The order of the samples changes from epoch to epoch."),
    "NPU355": Code("evaluation-on-many-cards", Severity.INFO, "How the evaluation is done by several processes."),
    "NPU356": Code("done-by-every-process", Severity.WARNING, "One process writes, the others do not."),
    "NPU357": Code("downloaded-by-every-process", Severity.WARNING, "One process of a machine downloads."),
    "NPU358": Code("value-of-one-process", Severity.WARNING, "What is printed is about all processes."),
    "NPU359": Code("gradients-gathered-too-often", Severity.INFO, "Accumulated gradients are gathered once."),
    "NPU360": Code("global-batch", Severity.INFO, "How many samples a step takes in all."),
    "NPU361": Code("learning-rate", Severity.INFO, "The learning rate and the global batch."),
    "NPU362": Code("card-chosen-by-number", Severity.ERROR, "Each process uses its own card."),
    "NPU363": Code("cards-hidden", Severity.ERROR, "The processes have to see their cards."),
    "NPU364": Code("data-parallel-replaced", Severity.WARNING, "DataParallel gives way to one process for each card."),
    "NPU365": Code("checkpoint-on-one-card", Severity.WARNING, "A checkpoint is not loaded to the card that wrote it."),
    "NPU366": Code("forward-passed-by", Severity.ERROR, "Gradients of a method other than forward are averaged, too."),
    "NPU367": Code("wrapper-saved", Severity.WARNING, "The model is saved without what is wrapped around it."),
    "NPU368": Code("summed-loss", Severity.INFO, "A loss that is a sum over the batch, and averaged gradients."),
    "NPU380": Code("framework-distributes", Severity.INFO, "The framework runs on many cards by itself."),
    "NPU390": Code("refused-reinforcement-learning", Severity.ERROR, "Not converted: it learns from an environment."),
    "NPU391": Code("refused-own-communication", Severity.ERROR, "Not converted: it communicates in its gradients."),
    "NPU392": Code("refused-already-distributed", Severity.ERROR, "Not converted: it runs in many processes already."),
    "NPU393": Code("refused-own-processes", Severity.ERROR, "Not converted: it starts processes by itself."),
    "NPU394": Code("refused-several-devices", Severity.ERROR, "Not converted: one process uses several cards."),
    "NPU395": Code("no-training-found", Severity.ERROR, "Not converted: nothing calls backward()."),
}
