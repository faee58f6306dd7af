"""tools/use_graph on small crates: what counts as a use, and which rule it breaks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
ROOT = "//! A crate: `low · high`.\npub mod high;\npub mod low;\n"


def run(folder: Path, files: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    for name, text in {"lib.rs": ROOT, "low.rs": "", "high.rs": "", **files}.items():
        if text is not None:
            path = folder / "src" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    command = [sys.executable, str(PROJECT / "tools" / "use_graph"), "src", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def uses(folder: Path, files: dict[str, str], by: str = "src/high.rs") -> list[str]:
    done = run(folder, files, "--list", "src")
    assert done.returncode == 0, done.stderr
    return [line.removeprefix(f"{by}:") for line in done.stdout.splitlines() if line.startswith(f"{by}:")]


def broken(folder: Path, files: dict[str, str]) -> str:
    done = run(folder, files)
    assert done.returncode == 1, done.stderr or done.stdout
    return done.stderr


# A folder of two files, and one beside it that uses the second.
LOW = {
    "lib.rs": ROOT.replace("low;", "low;\npub use low::Leaf as Exported;"),
    "low.rs": None,
    "low/mod.rs": "mod leaf;\nmod other;\nuse std::rc::*;\npub use leaf::{Leaf, leaf};\npub use self::other::*;\n",
    "low/leaf.rs": "pub struct Leaf;\npub enum Kind { A }\npub fn leaf() {}\nimpl Leaf { pub const ONE: u8 = 1; }\n",
    "low/other.rs": "pub use super::leaf::Kind as Sort;\npub struct Other;\npub const fn other() {}\n",
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("use crate::low::Leaf;", ["1 uses Leaf of src/low/leaf.rs"]),
        ("use crate::low::Leaf as Renamed;\ntype A = Renamed;", ["1 uses Leaf of src/low/leaf.rs"]),
        ("use crate::low as under;\nfn a() { under::leaf() }", ["2 uses leaf of src/low/leaf.rs"]),
        ("use crate::{low::{self as l, Other}};\nfn a() { l::leaf() }", [
            "2 uses leaf of src/low/leaf.rs",
            "1 uses Other of src/low/other.rs",
        ]),
        ("fn a() -> crate::low::Leaf { super::low::leaf(); todo!() }", [
            "1 uses Leaf of src/low/leaf.rs",
            "1 uses leaf of src/low/leaf.rs",
        ]),
        ("use crate::low::Sort::{A};", ["1 uses Kind of src/low/leaf.rs"]),
        ("use crate::Exported;", ["1 uses Leaf of src/low/leaf.rs"]),
        ("use crate::low::*;\nfn a(leaf: u8) -> Other { other() }", [
            "2 uses Other of src/low/other.rs",
            "2 uses other of src/low/other.rs",
        ]),
        ("fn a() {\n    use crate::low::Leaf as T;\n    T::ONE;\n}\nfn b<T: Default>() { T::default() }", [
            "2 uses Leaf of src/low/leaf.rs",
            "3 uses Leaf of src/low/leaf.rs",
        ]),
        ("fn a() { println!(\"{}\", crate::low::leaf()) }", ["1 uses leaf of src/low/leaf.rs"]),
        ("macro_rules! m { () => { $crate::low::leaf() } }", ["1 uses leaf of src/low/leaf.rs"]),
        ("mod inner {\n    use super::super::low::Leaf;\n}", ["2 uses Leaf of src/low/leaf.rs"]),
        ("pub(crate) struct A(pub(super) crate::low::Leaf);", ["1 uses Leaf of src/low/leaf.rs"]),
        ("pub use crate::low::Leaf;", []),
        ("pub use crate::low::Leaf;\nfn a(_: Leaf) {}", ["2 uses Leaf of src/low/leaf.rs"]),
        ("use crate::low::Rc;\nuse std::sync::Arc;\nfn a() -> self::Arc<Rc> {}", []),
        ("use std::low::Leaf;\nuse ::low::Other;", []),
    ],
)  # fmt: skip
def test_a_use_leads_to_the_file_that_defines(tmp_path: Path, source: str, expected: list[str]) -> None:
    assert uses(tmp_path, {**LOW, "high.rs": source}) == expected


@pytest.mark.parametrize(
    "source",
    [
        "// crate::low::Leaf /*\n/* a /* b */ crate::low::Leaf */\n/// [`crate::low::Leaf`]\nfn a() {}",
        'const A: &str = "\\"crate::low::Leaf";\nconst B: &str = r#"" crate::low::Leaf "#;',
        "fn a<'a>(_: &'a str) -> char { '\"' }\nfn b() -> u8 { b'\\'' }\n// crate::low::Leaf \"",
    ],
)
def test_no_text_hides_the_use_after_it(tmp_path: Path, source: str) -> None:
    lines = uses(tmp_path, {**LOW, "high.rs": source + "\nfn last() { crate::low::other() }\n"})
    assert [line.partition(" ")[2] for line in lines] == ["uses other of src/low/other.rs"]


def test_code_that_only_tests_leave_out_counts(tmp_path: Path) -> None:
    assert uses(tmp_path, {**LOW, "high.rs": "#[cfg(not(test))]\nuse crate::low::Leaf;"})


def test_a_module_and_a_function_of_one_name(tmp_path: Path) -> None:
    files = {
        "low.rs": None,
        "low/mod.rs": "pub mod a;\nmod b;\npub use b::a;\n",
        "low/a.rs": "pub struct In;\n",
        "low/b.rs": "pub fn a() {}\n",
        "high.rs": "use crate::low::a;\nfn f() -> a::In { a() }\n",
    }
    assert uses(tmp_path, files) == ["2 uses In of src/low/a.rs", "1 uses a of src/low/b.rs"]


def test_what_a_macro_defines(tmp_path: Path) -> None:
    files = {"low.rs": "made!(module, Leaf, Base);\n", "high.rs": "use crate::low::Leaf;\n"}
    assert uses(tmp_path, files) == ["1 uses Leaf of src/low.rs"]


def test_methods_in_another_file_than_their_type(tmp_path: Path) -> None:
    files = {
        "low.rs": None,
        "low/mod.rs": "mod far;\nmod near;\npub use near::Type;\n",
        "low/near.rs": "pub struct Type<T>(T);\nimpl<T> Type<T> {\n    fn near(&self) { self.far(); self.0.far() }\n}",
        "low/far.rs": "use super::near::Type;\nimpl<T: Fn() -> u8> Type<T> where T: Copy { pub fn far(&self) {} }\n",
        "high.rs": "use crate::low::Type;\nfn a(one: &Type<u8>) {\none.far();\none.near();\nType::far(one);\no.far() }",
    }
    far = "uses Type::far of src/low/far.rs"
    assert [line for line in uses(tmp_path, files) if "far" in line] == [f"3 {far}", f"5 {far}"]
    assert uses(tmp_path, files, by="src/low/near.rs") == [f"3 {far}"]
    assert "src/low/far.rs:1 uses Type of src/low/near.rs" in broken(tmp_path, files)


def test_upward(tmp_path: Path) -> None:
    faults = broken(tmp_path, {"low.rs": "fn a() {}\nuse crate::high::High;\n", "high.rs": "pub struct High;"})
    assert faults.splitlines() == [
        "src/low.rs:2 uses High of src/high.rs: `high` stands to the right of `low` in the order of modules"
    ]


def test_a_module_without_a_place_in_the_order(tmp_path: Path) -> None:
    faults = broken(tmp_path, {"lib.rs": ROOT.replace("`low", "`lowest · low") + "mod new;\n", "new.rs": ""})
    assert "src/new has no place in the order" in faults
    assert "the module lowest" in faults


ROOMS = {
    "high.rs": None,
    "high/mod.rs": "mod a;\nmod b;\nmod all;\npub use a::one::One;\n",
    "high/all.rs": "use super::a::two;\n",
    "high/a/mod.rs": "pub mod one;\npub mod two;\n",
    "high/a/one.rs": "use crate::high::b::three::Three;\npub struct One;\n",
    "high/a/two.rs": "pub struct Two;\n",
    "high/b/mod.rs": "pub mod three;\n",
    "high/b/three.rs": "pub struct Three;\n",
}


def test_rooms_that_use_each_other(tmp_path: Path) -> None:
    assert run(tmp_path, ROOMS).returncode == 0
    faults = broken(tmp_path, {**ROOMS, "high/b/three.rs": "use super::super::a::two::Two;\npub struct Three;\n"})
    assert faults.splitlines() == [
        "folders use each other in a circle: high/a and high/b",
        "  src/high/a/one.rs:1 uses Three of src/high/b/three.rs",
        "  src/high/b/three.rs:1 uses Two of src/high/a/two.rs",
    ]


def test_a_room_that_uses_what_is_around_it(tmp_path: Path) -> None:
    files = {
        **ROOMS,
        "high/all.rs": "pub struct All;\n",
        "high/b/three.rs": "use crate::high::all::All;\nuse A as B;\n",
    }
    faults = broken(tmp_path, {**files, "high/a/one.rs": "pub struct One;"})
    assert faults == (
        "src/high/b/three.rs:1 uses All of src/high/all.rs: a room doesn't use what stands directly in the folder"
        " around it\n"
    )


CIRCLE = {
    "high.rs": None,
    "high/mod.rs": "mod cell;\nmod nested;\nmod other;\n",
    "high/cell.rs": "use super::nested::Nested;\npub struct Cell;\n",
    "high/nested.rs": "fn a() {}\nuse super::cell::Cell;\npub struct Nested(Cell, super::cell::Cell);\n",
    "high/other.rs": "use super::cell::Cell;\n",
}
HONEST = "//! A head.\n//!\n//! Honest recursion: {}: a list prints\n//! cells.\n\n"


def test_files_that_use_each_other(tmp_path: Path) -> None:
    assert broken(tmp_path, CIRCLE).splitlines() == [
        "files use each other in a circle: src/high/cell.rs and src/high/nested.rs",
        "  src/high/cell.rs:1 uses Nested of src/high/nested.rs",
        "  src/high/nested.rs:2 uses Cell of src/high/cell.rs, and 1 more",
        "  if that is honest, src/high/mod.rs has to say why: //! Honest recursion: `cell.rs` and `nested.rs`: ...",
    ]


def test_honest_recursion(tmp_path: Path) -> None:
    head = HONEST.format("`cell.rs` and\n//! `nested.rs`") + CIRCLE["high/mod.rs"]
    done = run(tmp_path, {**CIRCLE, "high/mod.rs": head})
    assert done.returncode == 0, done.stderr
    assert "honest recursion: src/high/cell.rs, src/high/nested.rs" in done.stdout


@pytest.mark.parametrize("named", ["`cell.rs`, `nested.rs` and `other.rs`", "`cell.rs`"])
def test_honest_recursion_names_the_circle_exactly(tmp_path: Path, named: str) -> None:
    faults = broken(tmp_path, {**CIRCLE, "high/mod.rs": HONEST.format(named) + CIRCLE["high/mod.rs"]})
    assert "files use each other in a circle" in faults
    assert f"src/high/mod.rs names as honest recursion what is no such circle: {named}" in faults


def test_honest_recursion_says_why(tmp_path: Path) -> None:
    head = "//! Honest recursion: `cell.rs` and `nested.rs`\n" + CIRCLE["high/mod.rs"]
    assert "files use each other in a circle" in broken(tmp_path, {**CIRCLE, "high/mod.rs": head})


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"low.rs": "fn a() {}\nuse crate::high::Gone;\n"}, "low.rs:2: crate::high::Gone leads nowhere"),
        ({"low.rs": "\nmod gone;\n"}, "low.rs:2: mod gone has no file"),
        ({"lib.rs": "pub mod low;\n"}, "lib.rs: its docs don't name the order"),
    ],
)
def test_source_that_cant_be_followed(tmp_path: Path, files: dict[str, str], message: str) -> None:
    done = run(tmp_path, files)
    assert done.returncode == 2
    assert done.stderr.startswith(f"src/{message}")
    assert "Traceback" not in done.stderr


def test_the_picture_in_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A\n<!-- use-graph -->\n<!-- /use-graph -->\nB\n", encoding="utf-8")
    done = run(tmp_path, ROOMS, "--check", "page.md")
    assert done.returncode == 1
    assert "python tools/use_graph --write page.md" in done.stderr
    assert run(tmp_path, ROOMS, "--write", "page.md").returncode == 0
    assert run(tmp_path, ROOMS, "--check", "page.md").returncode == 0


def test_a_page_without_a_place_for_the_picture(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# A\n", encoding="utf-8")
    done = run(tmp_path, ROOMS, "--check", "page.md")
    assert done.returncode == 2
    assert "page.md has no place for the picture" in done.stderr
