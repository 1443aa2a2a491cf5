"""The codes of what a conversion finds and does, NPU350 to NPU399."""

from __future__ import annotations

from typing import NamedTuple

from npuify.language import phrase
from npuify.model import Evidence, Explanation, Severity


class Code(NamedTuple):
    """What a code stands for.

    Attributes:
        severity: that of a finding that is left to a person.
        explanation: why it matters, what the conversion writes, and what to do where it writes nothing.
    """

    name: str
    severity: Severity
    summary: str
    explanation: str
    source: str = ""
    """Where the fact comes from, where that is not PyTorch's documentation."""


PYTORCH = "PyTorch's documentation of torch.distributed, DistributedDataParallel and DistributedSampler"
TENSORFLOW = "hicann/tensorflow@82957b9: docs/en/tfadapter_1 and tfadapter_2, distributed training"
EVIDENCE = Evidence.DOCUMENTED

CODES = {
    "NPU350": Code(
        "no-process-group",
        Severity.ERROR,
        "The process selects its card and joins the others.",
        "One process runs on each card. Before using a device, it must select its own card (LOCAL_RANK) and join the "
        "process group, with HCCL for tensors on cards and Gloo for those on the CPU.\nWritten: "
        "npu_distributed.setup() first in the program, and the module npu_distributed.py beside it. Without "
        "torchrun setup() does nothing, and the program runs on one card. The group is left when the program "
        "ends.\nBy hand: import npu_distributed, and call npu_distributed.setup() first.",
    ),
    "NPU351": Code(
        "model-not-wrapped",
        Severity.ERROR,
        "Gradients are averaged over the processes.",
        "Each process computes gradients for its own samples. Wrapped in DistributedDataParallel, a model has their "
        "mean after backward(), so that its parameters stay equal everywhere.\nWritten: model = "
        "npu_distributed.wrap(model), after the model is on its device and its checkpoint is loaded, before it "
        "trains. The wrapper hands attributes, methods and state_dict() of the model on, so that the rest of the "
        "program stays as it is, and checkpoints have the same names as on one card.\nBy hand, where the model "
        "cannot be followed from the training loop to where it is made: the same statement at that place, for each "
        "model that trains. --model NAME says which one it is.",
    ),
    "NPU352": Code(
        "unused-parameters",
        Severity.INFO,
        "Some parameters may get no gradient in a step.",
        "DistributedDataParallel waits for the gradients of all parameters. Where forward() skips layers in some "
        "steps, the next step fails, unless find_unused_parameters is set.\nWritten: find_unused_parameters=True, "
        "with the condition in forward() that asks for it. It costs a walk through the graph in each step: leave it "
        "out where all layers are used in every step.",
    ),
    "NPU353": Code(
        "training-data-not-shared-out",
        Severity.ERROR,
        "Each process trains on its own samples.",
        "Without a sampler, every process trains on the same samples in a different order, and an epoch takes as long "
        "as on one card.\nWritten: sampler=npu_distributed.sampler(dataset, shuffle=…) with the loader's own "
        "shuffle and drop_last, or, where its arguments are not all written there, or it has a sampler or batch "
        "sampler already, npu_distributed.shard(DataLoader(…)).\nBy hand: an IterableDataset gives every "
        "world_size()-th sample, beginning with rank(); a batch that the program makes itself is cut by "
        "npu_distributed.own_part(x, y).",
    ),
    "NPU354": Code(
        "epoch-not-set",
        Severity.WARNING,
        "The order of the samples changes from epoch to epoch.",
        "A DistributedSampler derives its order from the seed and the epoch number: without set_epoch every epoch has "
        "the same order.\nWritten: npu_distributed.set_epoch(loader, epoch) in the loop around the loop over the "
        "loader, found by where the loader goes, not by what the variable is called. Without a number in reach, "
        "epochs are counted.\nBy hand: that call before each epoch.",
    ),
    "NPU355": Code(
        "evaluation-on-many-cards",
        Severity.INFO,
        "How several processes evaluate.",
        "Written, where the loop adds up numbers or collects a list under torch.no_grad(): each process evaluates "
        "every "
        "world_size()-th batch (my_batches), none twice, and the sums are added up (total) or the lists put together "
        "in their "
        "order (gathered), so that the numbers are those of one card.\n"
        "Elsewhere every process evaluates everything and gets the same numbers, which is right and takes as long as "
        "on one "
        "card; the finding says what stands in the way.",
    ),
    "NPU356": Code(
        "done-by-every-process",
        Severity.WARNING,
        "One process writes, the others do not.",
        "Files that all processes write at once get corrupted.\nWritten: `if npu_distributed.is_main():` around what "
        "saves and writes; disable= for progress bars; mode= for W&B; a silent writer in place of TensorBoard's on "
        "the other ranks; exist_ok=True for folders. Printing and logging.info() of the other ranks are silent "
        "after setup().\nBy hand: the same condition. Nothing that all processes have to take part in may stand "
        "under it: no forward pass with gradients, no npu_distributed.mean().",
    ),
    "NPU357": Code(
        "downloaded-by-every-process",
        Severity.WARNING,
        "One process per machine downloads.",
        "Written: `with npu_distributed.main_first():` around what downloads. One process of each machine goes first, "
        "the "
        "others follow and find the files.\n"
        "By hand: the same, around every statement that downloads or writes what the others read.",
    ),
    "NPU358": Code(
        "value-of-one-process",
        Severity.WARNING,
        "Printed values cover all processes.",
        "A loss or a number of correct answers covers only one process's samples.\nWritten: "
        "npu_distributed.mean(loss) in place of loss.item(), npu_distributed.total(…) for what is added up, "
        "npu_distributed.agreed(loss) in conditions, so that all processes take the same branch. All have to come "
        "by.\nLeft alone under conditions that may differ from process to process (the batch, the clock, random "
        "numbers): there a process would wait for ever. Take the mean before the condition.",
    ),
    "NPU359": Code(
        "gradients-gathered-too-often",
        Severity.INFO,
        "Accumulated gradients are reduced once.",
        "Where several batches are accumulated before the optimizer's step, only the last backward() needs to "
        "exchange gradients.\nWritten: `with npu_distributed.no_sync(model, until=…):` around forward and backward, "
        "with the condition of the optimizer's step. Without it the result is the same, and the others are waited "
        "for more often.",
    ),
    "NPU360": Code(
        "global-batch",
        Severity.INFO,
        "How many samples a step processes in total.",
        "By default the program's batch size applies to each card, so that N cards process N times as many samples "
        "per step, and an epoch has 1/N of the steps. The learning rate was chosen for the smaller batch: "
        "--scale-lr linear multiplies it by N (SGD; with a warm-up), --scale-lr sqrt by the square root of N "
        "(Adam).\n--global-batch keep divides the batch size by the number of cards: steps and learning rate stay "
        "as they were. A program with DataParallel had a batch for all cards: keep is what it did.",
    ),
    "NPU361": Code(
        "learning-rate",
        Severity.INFO,
        "The learning rate and the global batch.",
        "Written with --scale-lr: npu_distributed.scaled_lr(lr, rule) at each optimizer, and at schedules that hold a "
        "rate of "
        "their own (OneCycleLR, CyclicLR).\n"
        "By hand, where the rate is not given at the optimizer: the same around it. Schedules that count steps should "
        "count "
        "those of the new, shorter epochs.",
    ),
    "NPU362": Code(
        "card-chosen-by-number",
        Severity.ERROR,
        "Each process uses its own card.",
        "npu:0 is the same card in every process.\nWritten: npu, which is the current card of the process; "
        "npu_distributed.card(…) around numbers, npu_distributed.device(…) around devices that are put together "
        "when the program runs.",
    ),
    "NPU363": Code(
        "cards-hidden",
        Severity.ERROR,
        "The processes must see their cards.",
        "A program that sets ASCEND_RT_VISIBLE_DEVICES hides the cards of the other processes.\n"
        "Written: the statement holds without torchrun only.",
    ),
    "NPU364": Code(
        "data-parallel-replaced",
        Severity.WARNING,
        "DataParallel is replaced by one process per card.",
        "DataParallel drives all cards from one process; torch_npu does not support it.\nWritten: it is taken from "
        "around the model, and model.module is the model. Checkpoints of such a program that were saved with the "
        "wrapper have names that begin with `module.`: remove that when loading.",
    ),
    "NPU365": Code(
        "checkpoint-on-one-card",
        Severity.WARNING,
        "A checkpoint is not loaded onto the card that saved it.",
        "A tensor saved on npu:0 is loaded to npu:0 by every process.\nWritten: map_location=npu_distributed.device() "
        "where a model or its state is loaded; a barrier before, where the same program writes the file. Data that "
        "torch.load reads stays where it is.",
    ),
    "NPU366": Code(
        "forward-passed-by",
        Severity.ERROR,
        "Gradients of methods other than forward are also averaged.",
        "DistributedDataParallel sees forward() only. A method of the model that computes (model.encode(x)) would "
        "leave its "
        "gradients alone.\n"
        'Written: npu_distributed.call(model, "encode", x), which goes through the wrapper.',
    ),
    "NPU367": Code(
        "wrapper-saved",
        Severity.WARNING,
        "The model is saved without its wrapper.",
        "A whole model that is saved or exported would be loaded as DistributedDataParallel, which needs a process "
        "group.\n"
        "Written: npu_distributed.unwrap(model).",
    ),
    "NPU368": Code(
        "summed-loss",
        Severity.INFO,
        "A loss that is a sum over the batch, with averaged gradients.",
        "Gradients are averaged over the processes. If the loss is a sum, the mean over N cards is 1/N of the sum "
        "over the whole batch.\nWritten with --global-batch keep: the loss is multiplied by "
        "npu_distributed.world_size(), so that the step is that of one card. Otherwise nothing, since the step then "
        "fits the learning rate as it is.",
    ),
    "NPU380": Code(
        "framework-distributes",
        Severity.INFO,
        "The framework itself runs on many cards.",
        "Lightning, the Trainer of transformers, Accelerate, MMEngine and others select cards, wrap models and "
        "distribute data themselves. The program is not rewritten; the finding says which of their settings to use.",
    ),
    "NPU385": Code(
        "tensorflow-gradients-not-averaged",
        Severity.ERROR,
        "A TensorFlow optimizer averages its gradients over the cards.",
        "Each process computes gradients for its own samples.\nWritten: npu_distributed_optimizer_wrapper() around "
        "optimizers of TensorFlow 1, npu_distributed_keras_optimizer_wrapper() around those of TensorFlow 2. Both do "
        "nothing on one card.\nBy hand, where gradients come from tf.gradients() or a tape and no optimizer's "
        "apply_gradients() takes them: npu_allreduce() or npu_device.distribute.all_reduce(), exactly once.",
        TENSORFLOW,
    ),
    "NPU386": Code(
        "tensorflow-variables-not-broadcast",
        Severity.ERROR,
        "All cards begin with the variables of the first.",
        "Averaged gradients keep variables equal only where they begin equal.\nWritten: a broadcast after the "
        "initialisers have run (TensorFlow 1), or before fit() of a model that has its variables (TensorFlow 2).\n"
        "By hand: the same where the variables are there and training has not begun, after a checkpoint is loaded. "
        "Trainable variables are sent, statistics of batch norm are not.",
        TENSORFLOW,
    ),
    "NPU387": Code(
        "tensorflow-data-not-shared-out",
        Severity.WARNING,
        "Each card trains on its share of the data.",
        "Otherwise every process trains on all of it.\nWritten: .shard() right behind the source of the data that "
        "fit() is given, or of the only data there is, and drop_remainder=True in its batch(), since cards with "
        "batches of different sizes stop each other. The batch size stays that of one card. Data to evaluate on "
        "stays whole.",
        TENSORFLOW,
    ),
    "NPU388": Code(
        "tensorflow-files-of-every-rank",
        Severity.WARNING,
        "One rank writes, the others do not.",
        "Checkpoints, summaries and models that all ranks write to one place overwrite each other, and a folder that "
        "one rank removes may be in use by another.\nWritten: nothing, since what computes under a condition on the "
        "rank hangs.\nBy hand: in TensorFlow 2 a condition around what only writes; in TensorFlow 1 a folder for each "
        "rank.",
        TENSORFLOW,
    ),
    "NPU390": Code(
        "refused-reinforcement-learning",
        Severity.ERROR,
        "Not converted: it uses reinforcement learning.",
        "How several processes collect and share experience depends on the algorithm, not on the program's structure. "
        "Nothing is changed.\nBy hand: environments with a different seed in each process, npu_distributed.setup(), "
        "wrap(model) where gradients may be averaged, and rank 0 for logs and checkpoints.",
    ),
    "NPU391": Code(
        "refused-own-communication",
        Severity.ERROR,
        "Not converted: it communicates in its gradients.",
        "A custom autograd function exchanges tensors between processes. Also averaging gradients could count some of "
        "them several times. Nothing is changed.",
    ),
    "NPU392": Code(
        "refused-already-distributed",
        Severity.ERROR,
        "Not converted: it already runs in many processes.",
        "Migrate it with `npuify migrate`, and start it with `npuify launch`. `--complete` adds what is missing in a "
        "program that joins a process group itself: samplers, set_epoch(), rank 0 for files, the card of each "
        "process.",
    ),
    "NPU393": Code(
        "refused-own-processes",
        Severity.ERROR,
        "Not converted: it starts processes itself.",
        "torchrun starts one process per card. A program that starts processes itself would do so again in each. "
        "Nothing is changed.\nBy hand: call the training function once, and convert again. Programs with mp.spawn "
        "that join a process group can be converted with --complete.",
    ),
    "NPU394": Code(
        "refused-several-devices",
        Severity.ERROR,
        "Not converted: one process uses several cards.",
        "Splitting a model across cards is pipeline or tensor parallelism, which one process per card is not. Nothing "
        "is changed.",
    ),
    "NPU398": Code(
        "refused-tensorflow-not-migrated",
        Severity.ERROR,
        "Not converted: the program does not use the TensorFlow adapter yet.",
        "The conversion writes names of npu_bridge or npu_device, of which the program has to import one. Opening the "
        "NPU in a TensorFlow 2 program is an edit to review: it is made with --unsafe.",
        TENSORFLOW,
    ),
    "NPU395": Code(
        "no-training-found",
        Severity.ERROR,
        "Not converted: nothing trains a model.",
        "Neither the entry point nor a project file that it imports calls backward(), or, with TensorFlow, has a word "
        "by which programs train. Specify the training entry point with --entry.",
    ),
}


def explain_code(what: str) -> Explanation | None:
    """What ``npuify explain`` says of a code, asked for by the code or its name; None where it is none of these."""
    for code, known in CODES.items():
        if what.upper() == code or what == known.name:
            text = (
                phrase("severity {value} where it is left to do", value=phrase(known.severity.value)),
                known.summary,
                *phrase(known.explanation).splitlines(),
            )
            return Explanation(f"{code} {known.name}", "finding of npuify distribute", text, (), PYTORCH, EVIDENCE)
    return None
