"""What a value is used for, and where: the answers of :mod:`npuify.analysis.flow.uses`."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import mark

if TYPE_CHECKING:
    from npuify.analysis.values import Place, Step


class Use(Enum):
    """What a value is used for."""

    DEVICE = mark("a device")
    COMPARED = mark("a comparison with a device")
    CALLED = mark("something that is called like a device")
    """A name of the project's own says so: of a parameter, of an attribute. What it is given to tells more."""
    DEVICE_KEY = mark("a key of a table of devices")
    OPTION = mark("a default or choice of an option")
    KEY = mark("a key or name")
    PATH = mark("a path")
    MESSAGE = mark("a message")
    OTHER = mark("something else")
    """Known to be no device: an argument of another framework, a statement of its own."""
    UNKNOWN = "unknown"


DEVICE_USES = frozenset((Use.DEVICE, Use.COMPARED))
OTHER_USES = frozenset((Use.KEY, Use.PATH, Use.MESSAGE, Use.OTHER))


Seen = tuple[Use, str, bool]
"""A use, what it is in words, and whether more than a name tells so."""


class Destination(NamedTuple):
    """One place that a value reaches. ``sure`` is false where only a name tells what it does there."""

    use: Use
    place: Place
    what: str
    steps: tuple[Step, ...]
    sure: bool = True


class Uses(NamedTuple):
    """All places that a value reaches.

    ``is_whole`` says that it was followed everywhere, ``told_here`` that it stands where no device does: it is printed,
    is a key, or is given as a ``name=``.
    """

    destinations: tuple[Destination, ...]
    is_whole: bool
    told_here: bool = False
    is_own: bool = False
    """It ends in names of the project's own that nothing of torch reads, whatever they are called."""
    is_told_beyond: bool = False
    """It goes where the question does not reach, and the whole program would tell more: it is given to who calls a
    function, or nothing tells yet what it is."""

    @property
    def reaches_device(self) -> bool:
        """Whether the value is used as a device somewhere; where nothing else tells, names of the project do."""
        return self.is_used_as_device or (self.is_called_device and not self.is_own)

    @property
    def is_used_as_device(self) -> bool:
        """Whether more than a name of the project's own says that the value is a device."""
        return any(one.use in DEVICE_USES for one in self.destinations)

    @property
    def is_called_device(self) -> bool:
        """Whether a name of the project's own says that the value is a device."""
        return any(one.use is Use.CALLED for one in self.destinations)

    @property
    def is_told(self) -> bool:
        """Whether more files would not change what the value is taken for."""
        return self.is_used_as_device or self.is_no_device

    @property
    def is_no_device(self) -> bool:
        """Whether all that is done with the value is known, and none of it is with a device."""
        if self.told_here or self.is_own:
            return not self.reaches_device
        return self.is_whole and bool(self.destinations) and all(one.use in OTHER_USES for one in self.destinations)
