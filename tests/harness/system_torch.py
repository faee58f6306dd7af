"""Let this environment use the system's torch (on Debian: python3-torch), where there is one for this Python.

    python tests/harness/system_torch.py

The folder of the system's packages comes last on the path of this environment, so that its own packages win. Ends with
1, and changes nothing, where torch can't be imported that way.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

SYSTEM = Path("/usr/lib/python3/dist-packages")


def main() -> int:
    """Write the path file, and take it back if torch can't be imported with it."""
    if not (SYSTEM / "torch").is_dir():
        return 1
    link = Path(sysconfig.get_path("purelib")) / "system_torch.pth"
    link.write_text(f"{SYSTEM}\n", encoding="utf-8")
    found = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False)
    if found.returncode:
        link.unlink()
    return int(found.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
