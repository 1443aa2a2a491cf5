"""What functions, classes and methods of packages make: one row a name, or a family of names.

A row says a kind of value, or what becomes of an argument or of the object that a method belongs to. What has no row is
not known. A name of several modules stands under the one where it is documented; the ``lookup`` beside this knows its
other homes.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from npuify.analysis.library.tensor_methods import GIVING_NUMBERS, GIVING_TENSORS
from npuify.analysis.values import Kind


class Gives(Enum):
    """What a call gives that is no new object."""

    FIRST = "its first argument"
    WRAPPED = "its first argument, which it wraps in a module"
    COPY = "a copy of its first argument"
    SELF = "the object whose method it is"
    TAKEN = "an element of its first argument"
    TAKEN_FROM_SELF = "an element of the container whose method it is"
    LIKE_FIRST = "a container of the elements of its first argument"
    LIKE_SELF = "a container of the elements of the container whose method it is"
    DERIVED = "a container whose elements are worked out from its arguments"
    DATASETS = "a container of datasets"
    PARAMETERS = "the parameters of the model whose method it is"
    RETURNED = "what the function returns that is its first argument"
    PART_OF_LOADER = "a batch of the loader"


Result = Kind | Gives

UNKNOWN, TENSOR, MODEL, LOSS, NUMBER = Kind.UNKNOWN, Kind.TENSOR, Kind.MODEL, Kind.LOSS, Kind.NUMBER
STRING, OBJECT, OTHER, CONTAINER = Kind.STRING, Kind.TORCH_OBJECT, Kind.LIBRARY_OBJECT, Kind.CONTAINER
DATASET, LOADER, NONE = Kind.DATASET, Kind.LOADER, Kind.NONE


def _rows(prefix: str, names: str, result: Result) -> dict[str, Result]:
    return {f"{prefix}{name}": result for name in names.split()}


NAMES: Final[dict[str, Result]] = {
    # --- torch itself -------------------------------------------------------------------------------------------------
    "torch.load": UNKNOWN,
    "torch.device": Kind.DEVICE,
    **_rows("torch.", "compile", Gives.FIRST),
    **_rows("torch.", "save manual_seed set_default_device set_default_dtype set_printoptions", NONE),
    **_rows("torch.", "Generator Size finfo iinfo get_rng_state get_default_dtype no_grad enable_grad", OBJECT),
    **_rows("torch.", "inference_mode set_grad_enabled autocast", OBJECT),
    **_rows("torch.", "is_tensor is_floating_point is_complex is_storage is_grad_enabled is_nonzero", NUMBER),
    **_rows("torch.", "numel initial_seed seed get_num_threads allclose equal can_cast", NUMBER),
    "torch.typename": STRING,
    **_rows("torch.", "Tensor FloatTensor LongTensor IntTensor DoubleTensor HalfTensor ByteTensor BoolTensor", TENSOR),
    **_rows("torch.", "split chunk unbind meshgrid tensor_split broadcast_tensors atleast_1d", TENSOR),
    **_rows("torch.nn.", "Parameter Buffer UninitializedParameter", TENSOR),
    "torch.nn.parameter.Parameter": TENSOR,
    **_rows("torch.nn.", "DataParallel parallel.DataParallel parallel.DistributedDataParallel", Gives.WRAPPED),
    "torch.nn.parallel.data_parallel.DataParallel": Gives.WRAPPED,
    "torch.nn.parallel.distributed.DistributedDataParallel": Gives.WRAPPED,
    "apex.parallel.DistributedDataParallel": Gives.WRAPPED,
    # A module that is itself a batch norm comes back as another one, which is a module as well.
    **_rows("torch.nn.", "SyncBatchNorm.convert_sync_batchnorm", Gives.FIRST),
    **_rows("torch.nn.modules.batchnorm.", "SyncBatchNorm.convert_sync_batchnorm", Gives.FIRST),
    "apex.parallel.convert_syncbn_model": Gives.FIRST,
    **_rows("torch.nn.utils.", "weight_norm remove_weight_norm spectral_norm remove_spectral_norm", Gives.FIRST),
    **_rows("torch.nn.utils.parametrizations.", "weight_norm spectral_norm orthogonal", Gives.FIRST),
    "torch.distributed.fsdp.FullyShardedDataParallel": Gives.WRAPPED,
    **_rows("torch.jit.", "script trace freeze optimize_for_inference", Gives.FIRST),
    "torch.hub.load": MODEL,
    "torch.autograd.Variable": Gives.FIRST,
    # --- devices, streams, events, scalers ----------------------------------------------------------------------------
    **_rows("torch.cuda.", "Stream ExternalStream current_stream default_stream", Kind.STREAM),
    **_rows("torch.npu.", "Stream ExternalStream current_stream default_stream", Kind.STREAM),
    "torch.Stream": Kind.STREAM,
    **_rows("torch.", "cuda.Event npu.Event Event", Kind.EVENT),
    **_rows("torch.", "amp.GradScaler cuda.amp.GradScaler npu.amp.GradScaler", Kind.SCALER),
    **_rows("torch.cuda.", "is_available device_count current_device memory_allocated max_memory_allocated", NUMBER),
    **_rows("torch.npu.", "is_available device_count current_device memory_allocated max_memory_allocated", NUMBER),
    **_rows("torch.cuda.", "get_device_name get_arch_list", STRING),
    **dict.fromkeys(
        (f"{where}.get_device_properties" for where in ("torch.cuda", "torch.npu", "torch_npu.npu")), OBJECT
    ),
    **_rows("torch.distributed.", "get_rank get_world_size is_initialized is_available", NUMBER),
    "torch.distributed.get_backend": Kind.BACKEND_STRING,
    # --- data ---------------------------------------------------------------------------------------------------------
    **_rows("torch.utils.data.", "DataLoader dataloader.DataLoader", LOADER),
    **_rows("torch_geometric.", "loader.DataLoader data.DataLoader loader.NeighborLoader", LOADER),
    "timm.data.create_loader": LOADER,
    "timm.data.create_dataset": DATASET,
    "torch.utils.data.random_split": Gives.DATASETS,
    "torch.utils.data.IterDataPipe": Kind.ITERABLE_DATASET,
    "torch.utils.data.get_worker_info": OBJECT,
    "datasets.load_dataset": UNKNOWN,
    # --- models of other packages -------------------------------------------------------------------------------------
    "timm.create_model": MODEL,
    "timm.optim.create_optimizer": Kind.OPTIMIZER,
    "timm.optim.create_optimizer_v2": Kind.OPTIMIZER,
    "transformers.AdamW": Kind.OPTIMIZER,
    "transformers.get_scheduler": Kind.SCHEDULER,
    # --- Python -------------------------------------------------------------------------------------------------------
    **_rows("builtins.", "len int float bool ord hash id isinstance issubclass hasattr callable any all", NUMBER),
    **_rows("builtins.", "round divmod complex", NUMBER),
    **_rows("builtins.", "str repr format chr hex bin oct ascii input", STRING),
    **_rows("builtins.", "list tuple set frozenset sorted reversed iter", Gives.LIKE_FIRST),
    **_rows("builtins.", "dict enumerate zip range map filter", Gives.DERIVED),
    "builtins.next": Gives.TAKEN,
    **_rows("builtins.", "print setattr delattr", NONE),
    **_rows("builtins.", "open bytes bytearray memoryview object slice", OTHER),
    **_rows("copy.", "deepcopy", Gives.COPY),
    **_rows("copy.", "copy", Gives.FIRST),
    **_rows("collections.", "defaultdict OrderedDict deque Counter", Gives.DERIVED),
    **_rows("itertools.", "cycle islice", Gives.LIKE_FIRST),
    **_rows("tqdm.", "tqdm trange auto.tqdm std.tqdm notebook.tqdm autonotebook.tqdm", Gives.LIKE_FIRST),
    **_rows("rich.progress.", "track", Gives.LIKE_FIRST),
    **_rows("asyncio.", "run wait_for shield create_task ensure_future", Gives.FIRST),
    "functools.partial": Gives.RETURNED,
    **_rows("os.", "getenv environ.get", STRING),
    **_rows("os.path.", "join abspath dirname basename expanduser realpath normpath", STRING),
    **_rows("os.path.", "exists isfile isdir getsize", NUMBER),
    **_rows("os.", "cpu_count getpid", NUMBER),
    **_rows("time.", "time perf_counter monotonic process_time", NUMBER),
    **_rows("pathlib.", "Path PurePath", OTHER),
    **_rows("logging.", "getLogger", OTHER),
    **_rows("argparse.", "ArgumentParser", OTHER),
    **_rows("numpy.", "load fromfile", OTHER),
}
"""Names by name."""

FAMILIES: Final[tuple[tuple[str, str, Result], ...]] = (
    # Where the name begins, what its last part looks like, and what a call of it gives; the first that fits counts.
    ("torch.nn.functional.", "", TENSOR),
    ("torch.linalg.", "", TENSOR),
    ("torch.fft.", "", TENSOR),
    ("torch.special.", "", TENSOR),
    ("torch.nn.utils.", "", UNKNOWN),
    ("torch.nn.init.", "", UNKNOWN),
    ("torch.nn.", "Class Loss", LOSS),
    ("torch.nn.", "Class", MODEL),
    ("torch.optim.lr_scheduler.", "Class", Kind.SCHEDULER),
    ("torch.optim.swa_utils.", "Class", UNKNOWN),
    ("torch.optim.", "Class", Kind.OPTIMIZER),
    ("torch.utils.data.", "Class Sampler", Kind.SAMPLER),
    ("torch.utils.data.", "Class", DATASET),
    ("torch.cuda.", "Class Tensor", TENSOR),
    ("torchvision.models.", "function", MODEL),
    ("torchvision.models.", "Class Weights", OTHER),
    ("torchvision.models.", "Class", MODEL),
    ("torchvision.datasets.", "Class", DATASET),
    ("torchvision.transforms.", "Class", OTHER),
    ("torchvision.ops.", "Class", MODEL),
    ("torch_geometric.nn.", "Class", MODEL),
    ("torch_geometric.datasets.", "Class", DATASET),
    ("timm.models.", "", MODEL),
    ("timm.layers.", "Class", MODEL),
    ("timm.loss.", "Class", LOSS),
    ("numpy.", "", OTHER),
    ("scipy.", "", OTHER),
    ("pandas.", "", OTHER),
    ("cv2.", "", OTHER),
    ("PIL.", "", OTHER),
    ("matplotlib.", "", OTHER),
    ("sklearn.", "", OTHER),
    ("math.", "", NUMBER),
    ("random.", "", UNKNOWN),
    ("os.environ.", "", STRING),
)
"""Names by what they begin with, and by what their last part looks like."""

TORCH_MODULES: Final = frozenset(
    (
        "torch torch.nn torch.nn.functional torch.nn.parallel torch.nn.utils torch.nn.init torch.nn.parameter "
        "torch.nn.modules torch.cuda torch.cuda.amp torch.cuda.nvtx torch.cuda.nccl torch.npu torch.npu.amp torch.amp "
        "torch.autograd torch.autograd.profiler torch.backends torch.backends.cuda torch.backends.cudnn "
        "torch.distributed torch.distributed.fsdp torch.distributed.elastic torch.distributed.rpc torch.fft torch.hub "
        "torch.jit torch.linalg torch.multiprocessing torch.optim torch.optim.lr_scheduler torch.profiler "
        "torch.special torch.utils torch.utils.data torch.utils.data.distributed torch.utils.cpp_extension "
        "torch.utils.checkpoint torch.utils.tensorboard torch.ops torch.sparse torch.onnx torch.fx torch.mps "
        "torch.accelerator torch.library torch.random torch.testing torch.export torch._C torch._dynamo"
    ).split()
)
"""Names of torch that are modules."""

BASES: Final[dict[str, Kind]] = {
    "torch.nn.Module": MODEL,
    "torch.nn.modules.module.Module": MODEL,
    "torch.Tensor": TENSOR,
    "torch.utils.data.Dataset": DATASET,
    "torch.utils.data.dataset.Dataset": DATASET,
    "torch.utils.data.IterableDataset": Kind.ITERABLE_DATASET,
    "torch.utils.data.dataset.IterableDataset": Kind.ITERABLE_DATASET,
    "torch.utils.data.Sampler": Kind.SAMPLER,
    "torch.utils.data.sampler.Sampler": Kind.SAMPLER,
    "torch.optim.Optimizer": Kind.OPTIMIZER,
    "torch.optim.optimizer.Optimizer": Kind.OPTIMIZER,
}
"""What objects of a class are that has one of these as its base."""

PLAIN_BASES: Final = frozenset(
    (
        "builtins.object abc.ABC typing.Protocol typing.Generic typing.NamedTuple typing.TypedDict enum.Enum "
        "enum.IntEnum enum.Flag enum.IntFlag builtins.Exception builtins.ValueError builtins.RuntimeError "
        "builtins.dict builtins.list "
        "builtins.tuple builtins.set builtins.str builtins.int builtins.float threading.Thread argparse.Action "
        "argparse.Namespace unittest.TestCase collections.UserDict collections.OrderedDict logging.Handler "
        "logging.Formatter json.JSONEncoder"
    ).split()
)
"""Bases that make no object of torch."""

MEMBERS: Final[dict[Kind, dict[str, Result]]] = {
    # Methods by the kind of their object.
    TENSOR: {
        **dict.fromkeys(GIVING_TENSORS, TENSOR),
        **dict.fromkeys(GIVING_NUMBERS, NUMBER),
        **dict.fromkeys("numpy tolist".split(), OTHER),
        "backward": NONE,
    },
    MODEL: {
        **dict.fromkeys(
            (
                "to cuda npu cpu train eval half float double bfloat16 requires_grad_ apply share_memory type compile "
                "to_empty"
            ).split(),
            Gives.SELF,
        ),
        "parameters": Gives.PARAMETERS,
        "named_parameters": Gives.PARAMETERS,
        "zero_grad": NONE,
        "state_dict": OBJECT,
    },
    Kind.CONTAINER: {
        **dict.fromkeys("get pop popleft setdefault popitem".split(), Gives.TAKEN_FROM_SELF),
        **dict.fromkeys("copy __reversed__".split(), Gives.LIKE_SELF),
        **dict.fromkeys("values items keys".split(), Gives.DERIVED),
        **dict.fromkeys("index count __len__".split(), NUMBER),
        **dict.fromkeys("append extend insert add update remove discard clear sort reverse".split(), NONE),
    },
    Kind.STRING: {
        **dict.fromkeys(
            "format lower upper strip lstrip rstrip replace join capitalize title removeprefix removesuffix".split(),
            STRING,
        ),
        **dict.fromkeys("startswith endswith isdigit find index count rfind".split(), NUMBER),
        **dict.fromkeys("split rsplit splitlines partition rpartition".split(), Gives.DERIVED),
    },
    Kind.STREAM: {"record_event": Kind.EVENT, "synchronize": NONE, "wait_stream": NONE, "query": NUMBER},
    Kind.EVENT: {"elapsed_time": NUMBER, "record": NONE, "synchronize": NONE, "query": NUMBER},
    Kind.SCALER: {"scale": TENSOR, "step": UNKNOWN, "update": NONE},
    Kind.OPTIMIZER: {"zero_grad": NONE, "state_dict": OBJECT, "load_state_dict": NONE},
    LOADER: {"__len__": NUMBER, "__iter__": Gives.LIKE_SELF},
    Kind.BATCH: {
        **dict.fromkeys("to cuda npu cpu".split(), Gives.SELF),
    },
    Kind.HEIR: {
        **dict.fromkeys("to cuda npu cpu".split(), Gives.SELF),
    },
}

ATTRIBUTES: Final[dict[Kind, dict[str, Kind]]] = {
    # Attributes by the kind of their object.
    TENSOR: {
        **dict.fromkeys("data grad T mT H real imag weight bias".split(), TENSOR),
        "device": Kind.DEVICE,
        "dtype": Kind.TORCH_OBJECT,
        "shape": Kind.TORCH_OBJECT,
        **dict.fromkeys("is_cuda is_npu requires_grad ndim is_leaf itemsize nbytes".split(), NUMBER),
    },
    MODEL: {
        **dict.fromkeys("weight bias data grad T".split(), TENSOR),
        "training": NUMBER,
    },
    Kind.DEVICE: {"type": Kind.DEVICE_STRING, "index": NUMBER},
    LOADER: {"dataset": DATASET},
    Kind.BATCH: {"device": Kind.DEVICE},
}

LAYERS: Final = frozenset(
    ("torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.ParameterList")
)
"""Modules that hold what they are given, like a container."""

HANDED_OVER: Final[dict[str, tuple[int | None, str, int]]] = {
    # Functions that call one they are given: the position of the function, the keyword of it, and how many arguments
    # of their own they put before those they pass on.
    "torch.multiprocessing.spawn": (0, "fn", 1),
    "torch.multiprocessing.start_processes": (0, "fn", 1),
    "torch.multiprocessing.Process": (None, "target", 0),
    "multiprocessing.Process": (None, "target", 0),
    "threading.Thread": (None, "target", 0),
}
"""Functions that call a function with the arguments in ``args``."""

GENERIC_PASSING: Final = frozenset(("tqdm", "trange", "track", "auto"))
"""Names that progress bars go by, wherever they come from: they hand on the elements of their first argument."""
