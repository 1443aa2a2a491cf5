"""Which lines are worth a look: those with a piece of a word, or a code, of the tables."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from ahocorasick_rs import BytesAhoCorasick, Implementation

from npuify.knowledge.failures.causes import exception_facts, text_facts

DIGITS: Final = b"0123456789"

RICH: Final = "│ /".encode()
"""How a frame begins in a traceback that the library rich draws."""

STEMS: Final = (
    b"rror",
    b"RROR",
    b"xcept",
    b"raceback",
    b'File "',
    b"ailed",
    b"imeout",
    b"annot",
    b"ignal",
    b"illed",
    b"CAUTION",
    b"fault",
    b"ot support",
    b"ot implem",
    b"ot match",
    b"arning:",
    b"oneType",
    b"undefined sym",
    b"urrently supp",
    b"ot found",
    b"nvalid p",
    b"ouble free",
    b"orrupted ",
    b"orruption",
    b"BTRFS crit",
    b"erminate call",
    b"oss is nan",
    b"unreachable",
    b"nsupported ",
    b"ot known",
    b"has no attr",
    b"etries exc",
    b"t connect",
    b"was aborted",
    b"oo many open",
    b"oom-kill",
    b"exited unexp",
    b"at minimum",
    b" nan",
    b"=nan",
    b"NaN",
    b"reducing ",
    b"nan iterations",
    b"SIGTERM",
    b"SIGKILL",
    b"CANCELLED",
    b"erminated",
    b"xit code",
    b"xit status",
    b"eturn code",
    b"xited with",
    b"xitcode",
    b"status -",
    b"OOMKilled",
    b"oom_reaper",
    b"low on memory",
    b"memory pressure",
    b"to allocate",
    b"package configuration",
    b"NOT find",
    b"NPU branch",
    b"no such file",
    b"o such option",
    b"Missing option",
    b"Missing argument",
    b"extra argument",
    b"override '",
    b"NCCL",
    b"nccl",
    b"NVRM",
    b"Preempted",
    b"preempted",
    b"TERM_RUNLIMIT",
    b"walltime",
    b"requires ",
    b"installed",
    b"resolving",
    b"satisfies",
    b"does not exist",
    b"is not a ",
    b"enied",
    b"leaked",
    b"disappeared",
    b"was not called",
    b"is different from",
    b"runtime is",
    b"death signal",
    b"OVERFLOW",
    b"ompiled with",
    b"CUDA_HOME",
    b"oom_kill",
    b"signal: ",
    b"KeyboardInt",
    b"SIGINT",
    b"signal ",
    b"GRAPH_FAILED",
    b"died",
    b"bort",
    b"ASSERT",
    b"does not name",
    b"BinaryGet",
    b"KV cache",
    b"such file",
    b"available memory",
    b"No module named",
    b"timed out",
    b"container-cli",
    b"should ",
    b"with GPU",
    b"which is ",
    b"ess than",
    b"Unsupport",
    b"unmet ",
    b"ot enough",
    b"nsufficient ",
    b"on-zero",
    b"navailable",
    b"No match ",
    b"nable to locate",
    b"othing provides",
    b"out of ",
    b"device npu",
    b"initializes fail",
    b"encountered an issue",
    b"ot a valid",
    b"not valid",
    b"exhausted",
    b"epeat init",
    b"etting --",
    b"OP_REQUIRES",
    b"is_available",
    b"API version",
    b"not available",
    b"unequal",
    b"not equal",
    b"not permitted",
    b"core dump",
    b"TaskExecStage",
    b"InitChannelStage",
    b"InitGroupStage",
    b"IMEOUT",
    b"unexpected EOF",
    b"pull access",
    b"oomanyreq",
    b"imed out",
    b"is missing",
    b"be found",
    b"undefined ref",
    b"manifest",
    b"ImagePull",
    b"lease prov",
    b"lease spec",
    b"lease enab",
    b"lease turn",
    b"special char",
    b"rrno",
    b"ot exist",
    b"ChannelTimeout",
    b"=inf",
    b" inf",
    b"`nan`",
    b"package type",
    b"nvmlD",
    b"elpACL",
    b"No Such file",
    b"root permission",
    b"missing tools",
    b"is invalid",
    b"return code",
    b"get_timeout",
    b" must ",
    b"User-specified",
    b"cudaE",
    b"untime error",
    b"capability sm_",
    b"bucket not",
    b"NoSuch",
    b"MoxFile",
    b"o space left",
    b"emory limit",
    b"nternet connection",
    b"trust_remote_code",
    b"remaining_argv",
    b"are not used by",
    b"Assertion `",
    b"BdbQuit",
    b"unknown location",
    b"nknown arg",
    b"nrecogni",
    b"hysical device",
    b"initialize NVML",
    b"background process",
    b"ssigned backend",
    b"enum backend",
    b"InferShape",
    b"infer output",
    b"PU_group",
    b"Exceeded",
    b"longer than",
    b"victed",
    b"reempt",
    b"initialization f",
    b"mindie server",
    b"requeued",
    b"File /",
    b".py in ",
    b".py](http",
    b"gnore error",
    b"gnored error",
    b"gnoring ",
    b"xC0000",
    b"xc0000",
    b"epends on torch",
    b"group of specs",
    b"has wrong ",
    b"ilteringFail",
    b"step creation",
    b"NotFit",
    b"CardType",
    b"CardUuid",
    b"CardNotHealth",
    b"untolerated",
    b"OutOfcpu",
    b"OutOfmem",
    b"OutOfpods",
    b"OutOfhuawei",
    b": error:",
    b": fatal:",
    b"not su",
    b"llegal instr",
    b"/breakpoint trap",
    "非法指令".encode(),
    "浮点数例外".encode(),
    "已放弃".encode(),
    "╰─> ".encode(),
    b"o matching distr",
    b"following packages",
    b"GraphOpt",
    b"OT found",
    b"IBV_WC_",
    b"SystemExit",
    b"drvErr",
    b"GPU found",
    b"PU is req",
    b"extension module",
    RICH,
)
"""A line without any of these, and without a code of CANN, is not looked at. All are sought in one pass;
a test demands that every row of the tables has one."""

HEXADECIMAL: Final = re.compile(rb"0x[0-9a-fA-F]+")
CODE: Final = re.compile(rb"E[A-Z1-9]\d{4}")
CODE_SHAPE: Final = re.compile(rb"E[A-Z](?![A-Za-z])|(?<![A-Za-z0-9])E[:\] ]")
"""A code of CANN without its digits."""
HAS_CODE: Final = re.compile(rb"E[A-Z]?(?![A-Za-z])|ERR(?!O)|code|result|errno|Code|failure|reducing |tatus|skipped it")
NUMBERS: Final = re.compile(
    rb"E[A-Z0-9R]{1,2}\d{4,5}|\d{6}|reducing (?:loss scale )?to [\d.]+|loss scale: [\d.]+|skipped iterations: *\d+"
)
STEP: Final = re.compile(rb"(?i)\bloss(?:es)?\b['\"]?\s*(?:[:=|]|\.)(?!\s*(?:tensor\()?-?(?:nan|inf))")
FINISHED: Final = re.compile(
    rb"train_runtime|(?i:\btraining (?:is |has |was )?(?:complete|finish|done|end)(?:d|ed)?\b)"
)
"""Lines, without their digits, of a training that goes on, or has come to its end."""
GOES_ON: Final = 3
"""Steps of a training after which an error before them did not end it."""


def process(line: bytes) -> bytes:
    """What tells a line's process apart, without reading it: the beginning that a launcher writes."""
    first = line[:1]
    if first == b"(":
        return line[: line.find(b")")]
    if first == b"[" and line[1:2] in b"rd123456789":
        return line[:12]
    return line[:5] if first.isdigit() else b""


def launched(line: bytes) -> bytes:
    """The same where a launcher wrote it, empty where the line begins with a time or with its own words."""
    return process(line) if line[:1] in (b"(", b"[") or _NUMBERED.match(line) else b""


_NUMBERED: Final = re.compile(rb"\d{1,5}: ")
STEP_STEMS: Final = (b"loss", b"Loss", b"train_runtime", b"raining ")
"""One of them stands in each line of a training that goes on."""

WORD_IS_STEM: Final = 11
"""Letters from which a word of the tables is sought as it stands: shorter ones are in every other line of good runs."""
ORDINARY: Final = {b"bitsandbytes", b"transfer_to_npu", b"torchvision::", b"loading state_dict", b"sentencepiece"}
"""Long words that good runs say as well."""


@cache
def _finder() -> BytesAhoCorasick:
    """What finds stems, and the words of the tables that are long enough to stand for themselves."""
    # A shape has no digits.
    words = {word.encode().translate(None, DIGITS) for fact in text_facts() for word in fact.words}
    words = {word for word in words if len(word) >= WORD_IS_STEM}
    words = {word for word in words - ORDINARY if not any(stem in word for stem in STEMS)}
    words |= {word.encode() for fact in exception_facts() for word in fact.chinese}
    return BytesAhoCorasick([*STEMS, *sorted(words)], implementation=Implementation.DFA)


_STEP_FINDER: Final = BytesAhoCorasick(STEP_STEMS, implementation=Implementation.DFA)


def steps_in(text: bytes) -> dict[bytes, int]:
    """Lines of ``text``, without their digits, that tell of a step, with how many steps each stands for."""
    found = {}
    for line in _lines_at(
        text, {text.rfind(b"\n", 0, at) + 1 for _, at, _ in _STEP_FINDER.find_matches_as_indexes(text)}
    ):
        if FINISHED.search(line):
            found[line] = GOES_ON
        elif STEP.search(line):
            found[line] = 1
    return found


def starts_with_stems(text: bytes, code: re.Pattern[bytes]) -> set[int]:
    """Where lines begin that hold a stem or a code."""
    starts = set()
    end = -1
    for _, at, _ in _finder().find_matches_as_indexes(text):
        if at > end:
            starts.add(text.rfind(b"\n", 0, at) + 1)
            end = text.find(b"\n", at)
            if end < 0:
                break
    for found in code.finditer(text):
        starts.add(text.rfind(b"\n", 0, found.start()) + 1)
    return starts


def with_stems(text: bytes, code: re.Pattern[bytes]) -> set[bytes]:
    """Lines that hold a stem or a code."""
    return _lines_at(text, starts_with_stems(text, code))


def _lines_at(text: bytes, starts: set[int]) -> set[bytes]:
    found = set()
    for start in starts:
        end = text.find(b"\n", start)
        found.add(text[start:] if end < 0 else text[start:end])
    return found
