"""The stand-in runtime keeps memory, devices, streams and events as CANN's would, on the host."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SUCCESS, INVALID_PARAMETER, INVALID_DEVICE, NO_CONTEXT, NO_MEMORY = 0, 107000, 107001, 107002, 207001


def run(library: Path, program: str, **setting: str) -> list[object]:
    """What a program prints as JSON; it has ``acl``, the library, and ``ctypes``."""
    text = f"import ctypes, json\nacl = ctypes.CDLL({str(library)!r})\n{program}\nprint(json.dumps(out))"
    environment = {**os.environ, **setting}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True)
    found: list[object] = json.loads(done.stdout)
    return found


def test_devices(runtime: Path) -> None:
    program = """
n, d = ctypes.c_uint32(), ctypes.c_int32()
out = [acl.aclInit(None), acl.aclInit(None), acl.aclrtGetDevice(ctypes.byref(d))]
out += [acl.aclrtGetDeviceCount(ctypes.byref(n)), n.value]
out += [acl.aclrtSetDevice(2), acl.aclrtGetDevice(ctypes.byref(d)), d.value, acl.aclrtSetDevice(3), acl.aclrtSetDevice(-1)]
acl.aclrtGetSocName.restype = ctypes.c_char_p
out += [acl.aclrtGetSocName().decode()]
"""
    setting = {"NPUIFY_STAND_IN_DEVICES": "3", "NPUIFY_STAND_IN_SOC": "AscendX"}
    started = [SUCCESS, 100002, NO_CONTEXT, SUCCESS, 3]
    assert run(runtime, program, **setting) == [
        *started,
        SUCCESS,
        SUCCESS,
        2,
        INVALID_DEVICE,
        INVALID_DEVICE,
        "AscendX",
    ]


def test_memory_is_counted_and_holds_what_is_copied(runtime: Path) -> None:
    program = """
p, free, total = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
size = ctypes.c_size_t
def left():
    assert acl.aclrtGetMemInfo(0, ctypes.byref(free), ctypes.byref(total)) == 0
    return free.value
out = [acl.aclrtMalloc(ctypes.byref(p), size(4096), 0)]
acl.aclrtSetDevice(0)
out += [left(), acl.aclrtMalloc(ctypes.byref(p), size(4096), 0), left()]
text = ctypes.create_string_buffer(b"hello")
back = ctypes.create_string_buffer(6)
out += [acl.aclrtMemcpy(p, size(4096), text, size(6), 1), acl.aclrtMemcpy(back, size(6), p, size(6), 2), back.value.decode()]
out += [acl.aclrtMemcpy(back, size(6), p, size(7), 2)]
q = ctypes.c_void_p()
out += [acl.aclrtMalloc(ctypes.byref(q), size(8192 - 4095), 0), acl.aclrtMalloc(ctypes.byref(q), size(0), 0)]
out += [acl.aclrtFree(p), left(), acl.aclrtFree(p)]
"""
    found = run(runtime, program, NPUIFY_STAND_IN_MEMORY="8192")
    assert found[:4] == [NO_CONTEXT, 8192, SUCCESS, 4096]
    assert found[4:8] == [SUCCESS, SUCCESS, "hello", INVALID_PARAMETER]
    assert found[8:] == [NO_MEMORY, INVALID_PARAMETER, SUCCESS, 8192, INVALID_PARAMETER]


def test_events_take_time_and_have_to_be_recorded(runtime: Path) -> None:
    program = """
import time
a, b, ms = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
acl.aclrtCreateEventExWithFlag(ctypes.byref(a), 0); acl.aclrtCreateEventExWithFlag(ctypes.byref(b), 0)
out = [acl.aclrtEventElapsedTime(ctypes.byref(ms), a, b)]
acl.aclrtRecordEvent(a, None); time.sleep(0.02); acl.aclrtRecordEvent(b, None)
out += [acl.aclrtEventElapsedTime(ctypes.byref(ms), a, b), 19 < ms.value < 10000]
"""
    assert run(runtime, program) == [INVALID_PARAMETER, SUCCESS, True]


def test_options_are_read_as_they_were_set(runtime: Path) -> None:
    program = """
room = ctypes.create_string_buffer(32)
value = ctypes.c_int64(-1)
acl.aclSetCompileopt(3, b"enable"); acl.aclrtSetSysParamOpt(1, ctypes.c_int64(5))
out = [acl.aclGetCompileoptSize(3), acl.aclGetCompileopt(3, room, ctypes.c_size_t(32)), room.value.decode()]
out += [acl.aclGetCompileopt(3, room, ctypes.c_size_t(2)), acl.aclrtGetSysParamOpt(1, ctypes.byref(value)), value.value]
"""
    assert run(runtime, program) == [7, SUCCESS, "enable", INVALID_PARAMETER, SUCCESS, 5]


def test_any_call_can_be_made_to_fail_and_is_written_down(runtime: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    program = "out = [acl.aclrtSetDevice(0), acl.aclrtSetDevice(0), acl.aclrtSynchronizeDevice()]"
    setting = {"NPUIFY_STAND_IN_FAIL": "aclrtSetDevice=507033", "NPUIFY_STAND_IN_LOG": str(log)}
    assert run(runtime, program, **setting) == [507033, 507033, SUCCESS]
    assert log.read_text().splitlines() == ["runtime aclrtSetDevice", "runtime aclrtSynchronizeDevice"]


def test_it_is_a_library_that_can_be_opened_here(runtime: Path) -> None:
    assert ctypes.CDLL(str(runtime)).aclFinalize() == SUCCESS
