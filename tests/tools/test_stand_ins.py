"""Libraries that are missing are found out, made, and let others load."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tools.real_torch_npu.bodies import constructed_class, source_of
from tools.real_torch_npu.elf import SharedLibrary, WantedSymbol
from tools.real_torch_npu.stand_ins import (
    REST_LIBRARY,
    Lack,
    StandInError,
    build_runtime,
    build_stand_ins,
    find_lack,
    version_script,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GIVER = """
namespace shop {
struct Thing { Thing(); virtual ~Thing(); int number; };
Thing::Thing() : number(7) {}
Thing::~Thing() {}
Thing& the_thing() { static Thing thing; return thing; }
int count(int) { return 5; }
}
extern "C" { int giver_number() { return 3; } int giver_value = 9; int giver_versioned() { return 4; } }
"""
USER = """
#include <typeinfo>
#include <cstring>
namespace shop {
struct Thing { Thing(); virtual ~Thing(); int number; };
Thing& the_thing();
int count(int);
}
extern "C" {
int giver_number(); extern int giver_value; int giver_versioned();
__attribute__((weak)) int nobody_has_this();
int use_number() { return giver_number(); }
int use_value() { return giver_value; }
int use_versioned() { return giver_versioned(); }
int use_reference() { return shop::the_thing().number; }
int use_count() { return shop::count(1); }
int use_type() { return std::strcmp(typeid(shop::Thing).name(), "N4shop5ThingE"); }
int use_object() { auto* thing = new shop::Thing(); return std::strcmp(typeid(*thing).name(), "N4shop5ThingE"); }
}
"""
VERSIONS = "GIVER_1 { global: giver_versioned; }; GIVER_0 { global: *; };"


@pytest.fixture(name="user")
def _user(tmp_path: Path, compile_library: Callable[..., Path]) -> Path:
    """A library whose ``libgiver.so`` is gone."""
    versions = tmp_path / "versions.map"
    versions.write_text(VERSIONS)
    giver = compile_library("libgiver.so", GIVER, f"-Wl,--version-script={versions}")
    user = compile_library("libuser.so", USER, str(giver))
    giver.unlink()
    return user


def call(library: Path, function: str, folder: Path, **environment: str) -> int:
    """What a function of the library returns in a process that finds libraries in ``folder``."""
    program = f"import ctypes; print(ctypes.CDLL({str(library)!r}).{function}())"
    setting = {**os.environ, "LD_LIBRARY_PATH": str(folder), **environment}
    done = subprocess.run([sys.executable, "-c", program], env=setting, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_what_a_library_needs_is_read_from_its_file(user: Path) -> None:
    library = SharedLibrary(user)
    wanted = {symbol.name: symbol for symbol in library.wanted}
    assert library.soname == "libuser.so"
    assert "libgiver.so" in library.needed
    assert wanted["giver_number"] == WantedSymbol("giver_number", False, "GIVER_0", "libgiver.so")
    assert wanted["giver_versioned"].version == "GIVER_1"
    assert wanted["_ZTIN4shop5ThingE"].is_data
    assert "nobody_has_this" not in wanted, "the loader does without weak symbols"
    assert library.defines("use_number")
    assert not library.defines("giver_number")
    assert not library.defines("nothing_at_all")
    assert set(library.defined_names()) >= {"use_number", "use_value"}


def test_only_what_nobody_has_is_lacking(user: Path) -> None:
    lack = find_lack([user])
    assert lack.libraries == ("libgiver.so",)
    names = {symbol.name for symbol in lack.symbols}
    assert {"giver_number", "giver_value", "giver_versioned", "_ZN4shop5ThingC1Ev", "_ZN4shop9the_thingEv"} <= names
    assert not {"strcmp", "_Znwm"} & names, "the system has these"


def test_a_provider_counts_although_nobody_needs_it(
    tmp_path: Path, user: Path, compile_library: Callable[..., Path]
) -> None:
    provider = compile_library("libother.so", 'extern "C" int giver_number() { return 8; }')
    lack = find_lack([user], providers=[provider])
    assert "giver_number" not in {symbol.name for symbol in lack.symbols}


def test_nothing_lacks_where_all_is_there(tmp_path: Path, compile_library: Callable[..., Path]) -> None:
    giver = compile_library("libgiver.so", GIVER)
    user = compile_library("libuser.so", USER, str(giver))
    assert find_lack([user], folders=[tmp_path]) == Lack((), ())
    assert find_lack([user], folders=[tmp_path], also=("libopened.so",)) == Lack(("libopened.so",), ())


def test_with_stand_ins_the_library_loads_and_says_what_it_called(tmp_path: Path, user: Path, runtime: Path) -> None:
    folder = runtime.parent / "with-stand-ins"
    folder.mkdir()
    (folder / runtime.name).write_bytes(runtime.read_bytes())
    made = build_stand_ins(find_lack([user]), folder / runtime.name, folder)
    assert [path.name for path in made] == [REST_LIBRARY, "libgiver.so"]
    log = tmp_path / "calls.txt"
    assert call(user, "use_number", folder, NPUIFY_STAND_IN_LOG=str(log)) == 0
    assert log.read_text() == "stub giver_number\n"
    assert call(user, "use_number", folder, NPUIFY_STAND_IN_FAIL="giver_number=507018,other=1") == 507018
    assert call(user, "use_versioned", folder) == 0
    assert call(user, "use_value", folder) == 0
    # A C++ function that returns an object and one that returns a number both give zeros.
    assert call(user, "use_reference", folder) == 0
    assert call(user, "use_count", folder) == 0
    # Bindings ask for types and for the types of objects while they are imported.
    assert call(user, "use_type", folder) == 0
    assert call(user, "use_object", folder) == 0


def test_without_them_it_does_not_load(tmp_path: Path, user: Path) -> None:
    program = f"import ctypes; ctypes.CDLL({str(user)!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "libgiver.so" in done.stderr


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN4shop5ThingC1Ev", "N4shop5ThingE"),
        ("_ZN4shop5ThingC2ERKS0_", "N4shop5ThingE"),
        ("_ZN5ThingC1Ei", "5Thing"),
        ("_ZN4shop5ThingD1Ev", None),
        ("_ZN4shop9the_thingEv", None),
        ("_ZN4shop3BoxIiEC1Ev", None),
        ("aclInit", None),
    ],
)
def test_which_class_a_constructor_makes(symbol: str, name: str | None) -> None:
    assert constructed_class(symbol) == name


def test_symbols_without_versions_need_no_script() -> None:
    assert version_script([WantedSymbol("a"), WantedSymbol("b")]) == ""
    script = version_script([WantedSymbol("b", version="V2"), WantedSymbol("a", version="V2"), WantedSymbol("c")])
    assert script == "V2 { global: a; b; };\n"


def test_what_cannot_be_compiled_is_said(tmp_path: Path, runtime: Path) -> None:
    bad = Lack(("libbad.so",), (WantedSymbol('no"symbol', library="libbad.so"),))
    with pytest.raises(StandInError, match=r"libbad\.so"):
        build_stand_ins(bad, runtime, runtime.parent)


def test_a_missing_compiler_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StandInError, match="no C\\+\\+ compiler"):
        build_runtime(tmp_path)


def test_each_symbol_is_defined_once() -> None:
    text = source_of([WantedSymbol("one"), WantedSymbol("_ZN1AC1Ev"), WantedSymbol("two", is_data=True)])
    for name in ("one", "_ZN1AC1Ev", "two"):
        assert text.count(f'__asm__("{name}")') == 1
