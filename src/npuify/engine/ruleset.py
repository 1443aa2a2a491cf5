"""The rules of a run, prepared for use on many files: which of them a file's words concern, and what of it to parse."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.own_cuda import OWN_CUDA_WORDS
from npuify.engine.catalog import all_rules
from npuify.engine.ledger.unknown import RULE as UNKNOWN
from npuify.knowledge import products
from npuify.knowledge.frameworks.variables import uses_torch
from npuify.project.traces import IMPORT_WORDS
from npuify.rules.common.npu_support import SUPPORT_WORDS
from npuify.rules.selection import Selection
from npuify.words import Words, in_one_pass

if TYPE_CHECKING:
    import ast
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from npuify.analysis.project import ProjectIndex
    from npuify.rules.registry import Rule
    from npuify.source.text import Text
    from npuify.words import SkipIf

_WITHOUT_TORCH = (
    *(b"cuda", b"nccl", b"nvidia_", b"nvte_", b"cublas", b"cudnn", b"device-side assert", b"nvidia-smi"),
    *(
        b"flash_attn",
        b"xformers",
        b"tf_force_gpu",
        b"tf_gpu_",
        b"tf_xla_flags",
        b"tf_enable_auto_mixed",
        b"tf_determin",
        b"vllm_",
        b"flags_selected_gpus",
    ),
)
"""Words that matter also in a file that does not speak of torch."""
_ONLY_TORCH = (
    *("NPU10", "NPU11", "NPU12", "NPU13", "NPU14", "NPU15", "NPU16", "NPU2", "NPU3", "NPU4", "NPU5", "NPU650", "NPU66"),
    *("NPU704", "NPU705", "NPU706", "NPU707", "NPU73", "NPU751", "NPU8"),
)
"""Codes of rules that know what a place means to PyTorch: in a program of TensorFlow's, ``nccl`` is something else."""
_IMPORTS_TENSORFLOW = re.compile(
    rb"^[ \t]*(?:import|from)[ \t]+(?:tensorflow|horovod\.(?:tensorflow|keras))\b", re.MULTILINE
)


class _RuleWords(NamedTuple):
    """A rule, with its words as bytes."""

    rule: Rule
    words: frozenset[bytes]
    also_in_file: frozenset[bytes]


class FileRules(NamedTuple):
    """The rules that files with certain words concern.

    ``by_node`` are the rules for each node type, ``words`` those on whose lines they look.
    """

    by_node: Mapping[type[ast.AST], Sequence[Rule]]
    words: Words


def rules_to_run(selection: Selection) -> Selection:
    """Which rules have to run for what a selection asks: all of them where it has what the ledger finds.

    A place is not understood if no rule speaks of it, selected or not.
    """
    return Selection(opt_ins=selection.opt_ins) if selection.has(UNKNOWN) else selection


class RuleSet:
    """The rules that run.

    Args:
        selection: which of all rules.
        style: that of the run; rules of other styles have nothing to say.
        place_on_npu: whether programs are to be placed on the NPU.
        soc: the kind of chip aimed at, as :class:`npuify.rules.run.Run` takes it.

    Attributes:
        codes: those of the rules.
        codes_on_tensorflow: those of them that have something to say in a project that computes with TensorFlow alone.
        words: those that the rules look for.
        imports, own_cuda, support: those that a scan looks for besides, in the same pass.
    """

    def __init__(self, selection: Selection, style: str = "npu", *, place_on_npu: bool = False, soc: str = "") -> None:
        of_style = _of_style(style, place_on_npu=place_on_npu)
        of_chip = _of_chip(of_style, soc)
        selected = [rule for rule in of_chip if selection.has(rule)]
        self.codes = frozenset(rule.code for rule in selected)
        self.codes_on_tensorflow = frozenset(rule.code for rule in selected if not is_for_torch(rule))
        self._rules = [_with_words(rule) for rule in selected]
        triggers = [one for one in self._rules if not one.rule.common_words]
        if len(triggers) < len(self._rules):
            # What makes a file worth parsing for rules with common words does not depend on which other rules run.
            triggers = [_with_words(rule) for rule in of_style if not rule.common_words]
        own = (word for one in (*self._rules, *triggers) for word in (*one.words, *one.also_in_file))
        self.words, self.imports, self.own_cuda, self.support = in_one_pass(
            own, IMPORT_WORDS, OWN_CUDA_WORDS, SUPPORT_WORDS
        )
        self._triggers = frozenset(word for one in triggers if not one.also_in_file for word in one.words)
        self._paired_triggers = [one for one in triggers if one.also_in_file]
        self._foreign_triggers = [one for one in triggers if one.rule.without_torch]
        self._triggers_without_torch = frozenset(filter(_matters_without_torch, self._triggers))
        self._skip_if: dict[frozenset[str], dict[bytes, SkipIf]] = {}
        self._by_word: dict[bytes, list[int]] = {}
        for place, one in enumerate(self._rules):
            for word in one.words:
                self._by_word.setdefault(word, []).append(place)
        self._without_words = frozenset(place for place, one in enumerate(self._rules) if not one.words)
        self._asking = [one for one in self._rules if one.rule.concerns is not None]
        self._known: dict[tuple[frozenset[bytes], bool, frozenset[str]], FileRules] = {}
        # Rules look at other functions than the one in which they find something, so that what is parsed must not
        # depend on which rules were selected.
        is_part = len(selected) < len(of_chip)
        self._all = RuleSet(Selection(), style, place_on_npu=place_on_npu, soc=soc) if is_part else None

    def may_concern(self, lower: bytes) -> bool:
        """Whether a file with these bytes, turned to lower case, can hold anything for these rules."""
        there = self.words.in_text(lower)
        if not there or not there.isdisjoint(self._triggers_without_torch):
            return bool(there)
        if any(_is_named(one, there) for one in self._foreign_triggers):
            return True
        is_triggered = not there.isdisjoint(self._triggers) or any(
            _is_named(one, there) for one in self._paired_triggers
        )
        if not is_triggered or b"torch" not in lower:
            return False
        words = self.for_file(lower).words
        return not words.words.issubset(self._skippable(frozenset())) or bool(words.places(lower))

    def without(self, text: Text, project: ProjectIndex) -> frozenset[str]:
        """The codes of rules whose words stand in a file, and which have nothing to say there all the same."""
        if self._all is not None:
            return self._all.without(text, project)
        there = self.words.in_text(text.lower)
        return frozenset(
            rule.code
            for rule, words, _ in self._asking
            if rule.concerns is not None and not there.isdisjoint(words) and not rule.concerns(text.data, project)
        )

    def for_file(
        self, lower: bytes, *, on_tensorflow: bool = False, without: frozenset[str] = frozenset()
    ) -> FileRules:
        """Those of the rules that a file with these bytes, turned to lower case, concerns.

        Args:
            lower: the bytes.
            on_tensorflow: the project computes with TensorFlow alone.
            without: codes of rules that have nothing to say there; see :meth:`without`.
        """
        there = self.words.in_text(lower)
        known = there, on_tensorflow or is_for_tensorflow(lower), without
        if known not in self._known:
            self._known[known] = self._for_words(*known)
        return self._known[known]

    def words_to_parse(
        self, lower: bytes, *, on_tensorflow: bool = False, without: frozenset[str] = frozenset()
    ) -> Words:
        """Words of which one stands in each part that has to be parsed of a file, as :meth:`for_file` takes it."""
        return (self._all or self).for_file(lower, on_tensorflow=on_tensorflow, without=without).words

    def _for_words(self, there: frozenset[bytes], on_tensorflow: bool, without: frozenset[str]) -> FileRules:
        by_node: dict[type[ast.AST], list[Rule]] = {}
        wanted: set[bytes] = set()
        # Of more than a hundred rules a file's words concern some.
        places = {place for word in there for place in self._by_word.get(word, ())} | self._without_words
        for rule, words, also_in_file in (self._rules[place] for place in sorted(places)):
            if also_in_file and there.isdisjoint(also_in_file):
                continue
            if (on_tensorflow and is_for_torch(rule)) or rule.code in without:
                continue
            wanted |= words
            for node in rule.nodes:
                by_node.setdefault(node, []).append(rule)
        return FileRules(by_node, Words(there & wanted, of=self.words, skip_if=self._skippable(without)))

    def _skippable(self, without: frozenset[str]) -> dict[bytes, SkipIf]:
        """For each word that none of the rules cares for at every place, what tells so; see :meth:`without`."""
        if without not in self._skip_if:
            self._skip_if[without] = _skippable_words(one for one in self._rules if one.rule.code not in without)
        return self._skip_if[without]


def is_for_torch(rule: Rule) -> bool:
    """Whether a rule has something to say of programs of PyTorch's only."""
    return rule.code.startswith(_ONLY_TORCH) and not rule.without_torch


def is_for_tensorflow(lower: bytes) -> bool:
    """Whether a Python file with these bytes, in lower case, imports TensorFlow and has nothing to do with torch."""
    return b"tensorflow" in lower and _imports_tensorflow(lower) and not uses_torch(lower)


def _imports_tensorflow(lower: bytes) -> bool:
    # Words are found many times as fast as lines that begin in one of several ways.
    for word in (b"tensorflow", b"horovod"):
        at = lower.find(word)
        while at >= 0:
            if _IMPORTS_TENSORFLOW.match(lower, lower.rfind(b"\n", 0, at) + 1) is not None:
                return True
            at = lower.find(b"\n", at)
            at = lower.find(word, at) if at >= 0 else -1
    return False


@cache
def _matters_without_torch(word: bytes) -> bool:
    return any(part in word for part in _WITHOUT_TORCH)


def _is_named(one: _RuleWords, there: frozenset[bytes]) -> bool:
    """Whether a file with these words concerns a rule that needs two of them."""
    return not there.isdisjoint(one.words) and (not one.also_in_file or not there.isdisjoint(one.also_in_file))


def _of_style(style: str, *, place_on_npu: bool) -> list[Rule]:
    """The rules that have anything to say in a style."""
    return [
        rule for rule in all_rules().values() if rule.style in ("", style) and (place_on_npu or not rule.place_on_npu)
    ]


def _of_chip(rules: Iterable[Rule], soc: str) -> list[Rule]:
    """Those of the rules that have anything to say for a kind of chip; an empty one means any."""
    product = products()[soc] if soc else None
    return [rule for rule in rules if rule.applies_to_chip is None or rule.applies_to_chip(product)]


def _with_words(rule: Rule) -> _RuleWords:
    return _RuleWords(rule, _spelled(rule.words), _spelled(rule.also_in_file))


def _spelled(words: Iterable[str]) -> frozenset[bytes]:
    """The words as bytes; one that ends as a call begins is found in ``load (f)`` and ``(load)(f)``, too."""
    found = set(words)
    for word in words:
        name, call = word.rstrip("()"), word[len(word.rstrip("()")) :]
        if call in ("(", "()") and name:
            found |= {f"{name}{between}{call}" for between in (" ", ")", " )")}
    return frozenset(map(str.encode, found))


def _skippable_words(rules: Iterable[_RuleWords]) -> dict[bytes, SkipIf]:
    """For each word that no rule cares for at every place: whether none has anything to say at one."""
    tests: dict[bytes, set[SkipIf | None]] = {}
    for one in rules:
        for word in one.words:
            tests.setdefault(word, set()).add(one.rule.skip_if)
    return {
        word: next(iter(known)) if len(known) == 1 else _all_of(known)
        for word, all_tests in tests.items()
        if len(known := frozenset(test for test in all_tests if test is not None)) == len(all_tests)
    }


def _all_of(tests: Collection[SkipIf]) -> SkipIf:
    """Whether none of several rules has anything to say at a place."""

    def skipped(text: bytes, start: int, end: int) -> bool:
        return all(test(text, start, end) for test in tests)

    return skipped
