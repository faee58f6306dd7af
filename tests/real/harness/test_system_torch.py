"""The source of the tests' torch: without torch a message says why, and no file is left over."""

from __future__ import annotations

import sys

import pytest
from real.harness import system_torch


@pytest.fixture(autouse=True)
def system(monkeypatch, tmp_path):
    """A system without torch, and an environment."""
    system_folder, prefix = tmp_path / "system", tmp_path / "environment"
    system_folder.mkdir()
    prefix.mkdir()
    monkeypatch.setattr(system_torch, "SYSTEM", system_folder)
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(system_torch.sysconfig, "get_path", lambda _: str(prefix))
    return system_folder, prefix


def test_none_of_the_system_s(capsys):
    assert system_torch.main([]) == 1
    assert capsys.readouterr().err.startswith("no torch of the system's: the system has none in ")


def test_no_way_to_install_it(capsys, monkeypatch):
    monkeypatch.setattr(system_torch.shutil, "which", lambda _: None)
    assert system_torch.main(["--install"]) == 1
    assert "there is no apt-get" in capsys.readouterr().err


def test_another_python_s_is_not_installed(capsys, monkeypatch, tmp_path):
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\necho cpython-27\n", encoding="utf-8")
    other.chmod(0o755)
    monkeypatch.setattr(system_torch, "SYSTEM_PYTHON", other)
    monkeypatch.setattr(system_torch.shutil, "which", lambda _: "apt-get")
    assert system_torch.main(["--install"]) == 1
    assert "is for cpython-27, and this is " in capsys.readouterr().err


def test_one_that_can_not_be_imported_is_not_linked(system, capsys, monkeypatch):
    system_folder, prefix = system
    (system_folder / "torch").mkdir()
    monkeypatch.setattr(system_torch, "run", lambda *_: "ImportError: no such library")
    assert system_torch.main([]) == 1
    assert "it can't be imported here: ImportError: no such library" in capsys.readouterr().err
    assert not list(prefix.iterdir())


def test_its_packages_are_linked_and_nothing_else(system, monkeypatch):
    system_folder, prefix = system
    for name in ("torch", "torchgen", "numpy"):
        (system_folder / name).mkdir()
    monkeypatch.setattr(system_torch, "run", lambda *_: "")
    for _ in range(2):  # an environment that is set up again
        assert system_torch.main([]) == 0
        assert sorted(path.name for path in (prefix / "system_torch").iterdir()) == ["torch", "torchgen"]
        assert (prefix / "system_torch.pth").read_text(encoding="utf-8") == f"{prefix / 'system_torch'}\n"
