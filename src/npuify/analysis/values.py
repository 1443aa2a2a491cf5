"""What an expression may stand for: abstract values, sets of them, and the steps that show where each comes from."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import mark, phrase, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Kind(Enum):
    """What sort of thing a value is."""

    __hash__ = object.__hash__  # that of Enum is written in Python, and sets of values ask for it all the time

    UNKNOWN = "unknown"
    """Anything: what ``torch.load``, a configuration or a parameter that nothing is known of gives."""
    NONE = "None"
    """A placeholder; it says nothing of what a name holds later."""
    NUMBER = "number"
    STRING = "string"
    DEVICE_STRING = mark("device string")
    BACKEND_STRING = mark("backend string")
    CONTAINER = "container"
    """A list, tuple, set, dict, or what a comprehension or generator yields."""

    TORCH_MODULE = mark("module of torch")
    """A module object: ``torch``, ``torch.cuda``."""
    TORCH_NAME = mark("name of torch")
    """A function, class or constant of torch, not called: ``torch.cuda.Event``."""
    TENSOR = "tensor"
    MODEL = "nn.Module"
    LOSS = "loss"
    OPTIMIZER = mark("optimizer")
    SCHEDULER = "scheduler"
    SCALER = mark("gradient scaler")
    LOADER = "DataLoader"
    DATASET = "dataset"
    ITERABLE_DATASET = mark("iterable dataset")
    SAMPLER = "sampler"
    BATCH = "batch"
    """What a loader yields, or a part of it: mostly a tensor, or a structure of tensors."""
    PARAMETERS = "parameters"
    """The parameters of the model ``of``."""
    STREAM = "stream"
    EVENT = "event"
    DEVICE = "device"
    TORCH_OBJECT = mark("object of torch")

    MODULE = "module"
    """A module of the project."""
    FUNCTION = "function"
    """A function of the project; a method bound to the object ``of``, if that is given."""
    CLASS = "class"
    """A class of the project."""
    INSTANCE = "instance"
    """An object of a class of the project that is none of the kinds above."""
    HEIR = mark("instance of a class with an unknown base")
    """As ``INSTANCE``, where a base of the class is not known: it may be a model all the same."""
    PROJECT_NAME = mark("name of the project")
    """A name of another file, which was not looked at, since the question was about one file."""

    LIBRARY_NAME = mark("name of a package")
    """A module, function, class or object that a package other than torch gives under this name."""
    LIBRARY_OBJECT = mark("object of a package")

    CALL_SITE = "call"
    """A place where a function is called; only in answers to who calls it."""


VAGUE = frozenset((Kind.UNKNOWN, Kind.HEIR, Kind.BATCH))
"""Kinds that may turn out to be others."""
STRINGS = frozenset((Kind.STRING, Kind.DEVICE_STRING, Kind.BACKEND_STRING))
MODELS = frozenset((Kind.MODEL, Kind.LOSS))
OBJECTS = frozenset(
    (
        *(Kind.INSTANCE, Kind.HEIR, Kind.MODEL, Kind.LOSS, Kind.OPTIMIZER, Kind.SCHEDULER, Kind.LOADER),
        *(Kind.DATASET, Kind.ITERABLE_DATASET, Kind.SAMPLER),
    )
)
"""Kinds that objects of the project's classes may be of."""


class Place(NamedTuple):
    """Where a piece of source text stands. Columns are offsets in UTF-8, from 0, as ``ast`` has them."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Value(NamedTuple):
    """One thing that an expression may stand for.

    ``name`` is a qualified name (``torch.cuda.Event``, ``pkg.models.Net``), the text of a string, or the sort of a
    container. ``place`` is the expression that makes the thing; of an ``INSTANCE``, the class. ``definition`` is its
    function or class, if the project has it. ``of`` is the object that a method is bound to, the model whose parameters
    these are, or the loader that a batch comes from.

    Values hold no syntax nodes, so that what is remembered of one file keeps no other file's tree in memory.
    """

    kind: Kind
    name: str = ""
    place: Place | None = None
    definition: Place | None = None
    of: Value | None = None


class Step(NamedTuple):
    """One step of the way on which a value came; ``before`` is the step that came before it."""

    place: Place
    text: str
    before: Step | None = None
    length: int = 1

    def chain(self) -> list[Step]:
        """The steps from where the value comes from to where it was asked for."""
        steps: list[Step] = []
        step: Step | None = self
        while step is not None:
            steps.append(step)
            step = step.before
        return steps[::-1]


UNKNOWN = Value(Kind.UNKNOWN)
NONE = Value(Kind.NONE)
_LIMIT = 80
"""Values beyond which a set says no more than that it is not known."""
_LONGEST = 24
"""Steps of a chain; what a longer one says is that it is long."""


class Values:
    """A set of values with the shortest way to each; how they came there does not count when sets are compared.

    An empty set means that nothing has been found (yet): ``x = x.view(1)`` says nothing by itself.
    """

    __slots__ = ("_steps",)

    def __init__(self, steps: dict[Value, Step | None] | None = None) -> None:
        self._steps: dict[Value, Step | None] = {} if steps is None else steps

    # --- sets ---

    def __iter__(self) -> Iterator[Value]:
        return iter(self._steps)

    def __len__(self) -> int:
        return len(self._steps)

    def __contains__(self, value: object) -> bool:
        return value in self._steps

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Values) and self._steps.keys() == other._steps.keys()

    def __hash__(self) -> int:
        return hash(frozenset(self._steps))

    def __or__(self, other: Values) -> Values:
        return union((self, other)) if self._steps and other._steps else (self if self._steps else other)

    def __repr__(self) -> str:
        return f"Values({', '.join(sorted(describe(value) for value in self._steps))})"

    # --- questions ---

    @property
    def kinds(self) -> frozenset[Kind]:
        return frozenset(value.kind for value in self._steps)

    @property
    def is_known(self) -> bool:
        """Whether something was found, and nothing of it is unknown."""
        return bool(self._steps) and UNKNOWN not in self._steps

    def only(self, *kinds: Kind) -> bool:
        """Whether all values are of these kinds; placeholders do not count, and there must be one besides."""
        found = self.kinds - {Kind.NONE}
        return bool(found) and found <= frozenset(kinds)

    def may(self, *kinds: Kind) -> bool:
        """Whether a value is of one of these kinds, or may be, for all that is known."""
        found = self.kinds
        return not found or not found.isdisjoint(kinds) or not found.isdisjoint(VAGUE)

    def of_kind(self, *kinds: Kind) -> list[Value]:
        """The values of these kinds, in the order in which they were found."""
        return [value for value in self._steps if value.kind in kinds]

    @property
    def sole(self) -> Value | None:
        """The only value, placeholders aside; None where there are several, or none."""
        found = [value for value in self._steps if value.kind is not Kind.NONE]
        return found[0] if len(found) == 1 else None

    @property
    def kind(self) -> Kind | None:
        """The kind of all values, placeholders aside; None where kinds disagree, or there are none."""
        found = self.kinds - {Kind.NONE}
        return next(iter(found)) if len(found) == 1 else None

    def why(self, value: Value) -> list[Step]:
        """The steps on which a value came, from where it was made."""
        step = self._steps.get(value)
        return step.chain() if step is not None else []

    # --- making others ---

    def where(self, wanted: Callable[[Value], bool]) -> Values:
        """Those values of which ``wanted`` is true."""
        return Values({value: step for value, step in self._steps.items() if wanted(value)})

    def only_this(self, value: Value) -> Values:
        """The set of one of its values."""
        return Values({value: self._steps[value]})

    def without(self, *values: Value) -> Values:
        return self.where(lambda value: value not in values)

    def through(self, place: Place, text: str) -> Values:
        """The same values, one step further."""
        if not self._steps:
            return self
        return Values({value: _further(step, place, text) for value, step in self._steps.items()})

    def each(self, change: Callable[[Value], Values | Value | None]) -> Values:
        """What ``change`` makes of the values, together; each keeps its way."""
        found: dict[Value, Step | None] = {}
        for value, step in self._steps.items():
            changed = change(value)
            if isinstance(changed, Value):
                found.setdefault(changed, step)
            elif changed is not None:
                for one, own in changed._steps.items():
                    found.setdefault(one, own if own is not None else step)
        return Values(found)


NOTHING = Values()
ANYTHING = Values({UNKNOWN: None})


def one(value: Value, step: Step | None = None) -> Values:
    """The set of one value."""
    return Values({value: step})


def made(value: Value, place: Place, text: str) -> Values:
    """The set of one value, which begins at a place."""
    return Values({value: Step(place, text)})


def made_of(source: Values, value: Value, place: Place, text: str) -> Values:
    """The set of one value, which comes from another at a place; ``source`` is the set of that other."""
    return Values({value: _further(next(iter(source._steps.values()), None), place, text)})


def unknown(place: Place, why: str) -> Values:
    """Not known, with the reason."""
    return Values({UNKNOWN: Step(place, why)})


def union(parts: Iterable[Values]) -> Values:
    """All values of several sets; of two ways to the same value, the shorter one."""
    found: dict[Value, Step | None] = {}
    for part in parts:
        for value, step in part._steps.items():
            known = found.get(value)
            if value not in found or (known is not None and step is not None and step.length < known.length):
                found[value] = step
    if len(found) > _LIMIT:
        return _widened(found)
    return Values(found)


def _widened(found: dict[Value, Step | None]) -> Values:
    """A set without the texts of its constants; if it still is too large, its first values and that there are more."""
    wide: dict[Value, Step | None] = {}
    for value, step in found.items():
        plain = value.place is None and value.kind in (Kind.NUMBER, Kind.STRING)
        wide.setdefault(Value(value.kind) if plain else value, step)
    if len(wide) > _LIMIT:
        wide = dict(list(wide.items())[: _LIMIT - 1])
        wide.setdefault(UNKNOWN, None)
    return Values(wide)


def _further(step: Step | None, place: Place, text: str) -> Step:
    if step is None:
        return Step(place, text)
    if step.length >= _LONGEST or (step.place == place and step.text == text):
        return step
    return Step(place, text, step, step.length + 1)


def describe(value: Value) -> str:
    """A value in words: ``nn.Module pkg.models.Net``, ``device string 'cuda'``."""
    kind = phrase(value.kind.value) if value.kind in (Kind.UNKNOWN, Kind.OPTIMIZER) else told(value.kind.value)
    if value.kind in STRINGS:
        return f"{kind} {value.name!r}" if value.name else kind
    if value.kind is Kind.PARAMETERS and value.of is not None:
        return phrase("parameters of {describe}", describe=describe(value.of))
    if value.kind is Kind.FUNCTION and value.of is not None:
        return phrase("method {name}", name=value.name)
    if value.kind in (Kind.INSTANCE, Kind.HEIR) and value.name:
        return f"{kind} {value.name}" if value.kind is Kind.HEIR else phrase("instance of {name}", name=value.name)
    return f"{kind} {value.name}".strip()
