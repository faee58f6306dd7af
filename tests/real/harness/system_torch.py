"""Let this environment use the system's torch (on Debian: python3-torch), where there is one for this Python.

    python tests/real/harness/system_torch.py [--install]

This environment gets links to torch's packages and to nothing else of the system's, so that what isn't installed here
stays absent. With --install the package is installed first, where apt-get is at hand, this is root, and the system's
Python is of the same version. Where torch can't be had that way the last line says why, nothing is changed in this
environment, and the exit code is 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

SYSTEM = Path("/usr/lib/python3/dist-packages")
SYSTEM_PYTHON = Path("/usr/bin/python3")
PACKAGES = ("torch", "torchgen", "functorch")
DEBIAN = "python3-torch"


class AbsentError(Exception):
    """The reason why torch can't be used."""


def main(arguments: list[str]) -> int:
    """Link it, after installing it if that is asked for and needed; say why not."""
    try:
        if not (SYSTEM / "torch").is_dir():
            if "--install" not in arguments:
                raise AbsentError(f"the system has none in {SYSTEM} (Debian's package is {DEBIAN})")
            install()
        link(Path(sys.prefix))
    except (AbsentError, OSError) as error:
        print(f"no torch of the system's: {error}", file=sys.stderr)
        return 1
    return 0


def install() -> None:
    """Have apt-get install it. Nothing is asked, and no package is removed for its sake."""
    apt = shutil.which("apt-get")
    if apt is None:
        raise AbsentError("there is no apt-get to install it with")
    if not SYSTEM_PYTHON.exists():
        raise AbsentError(f"there is no {SYSTEM_PYTHON}, so no telling for which Python it would be")
    says = "import sys; print(sys.implementation.cache_tag)"
    theirs = subprocess.run([SYSTEM_PYTHON, "-c", says], capture_output=True, text=True, check=False).stdout.strip()
    if theirs != sys.implementation.cache_tag:
        raise AbsentError(f"the system's is for {theirs or 'no Python'}, and this is {sys.implementation.cache_tag}")
    if os.geteuid() != 0:
        raise AbsentError(f"only root can install it: apt-get install --no-install-recommends {DEBIAN}")
    options = ["-y", "--no-install-recommends", "--no-remove", "-o", "Acquire::http::Timeout=30"]
    print(f"installing the system's {DEBIAN} with apt-get", file=sys.stderr)
    failed = run(apt, "install", *options, DEBIAN)
    if failed:  # the lists may be missing or old
        run(apt, "update", *options[-2:])
        failed = run(apt, "install", *options, DEBIAN)
    if failed:
        raise AbsentError(f"apt-get can't install {DEBIAN}: {failed}")


def link(root: Path) -> None:
    """Put links into a folder of their own, last on the path; take it back if torch can't be imported with them."""
    # Not among the installed packages: pip would follow the links, and write into the system's.
    folder = root / "system_torch"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in PACKAGES:
        if (SYSTEM / name).is_dir():
            (folder / name).symlink_to(SYSTEM / name, target_is_directory=True)
    path_file = Path(sysconfig.get_path("purelib")) / "system_torch.pth"
    path_file.write_text(f"{folder}\n", encoding="utf-8")
    failed = run(sys.executable, "-W", "ignore", "-c", "import torch; torch.zeros(1).tolist()")
    if failed:
        path_file.unlink()
        shutil.rmtree(folder)
        raise AbsentError(f"it can't be imported here: {failed}")


def run(*command: str) -> str:
    """The last line of what a command complains of; nothing if it is done."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        command, env=quiet, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode == 0:
        return ""
    return ([line.strip() for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"])[-1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
