"""Write the case files: `python -m make_cases`, with `tests` on the path; `--out FOLDER` writes them elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from case_files import FOLDER

from . import make_files

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make_cases")
    parser.add_argument("--out", type=Path, default=FOLDER)
    out = parser.parse_args().out
    files = make_files()
    for name, text in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    print(f"{len(files)} files, {sum(len(text.encode()) for text in files.values())} bytes, in {out}")
