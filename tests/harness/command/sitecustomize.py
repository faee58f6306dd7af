"""Read by Python when it starts, in each process of a harness's command line: stand-ins for what isn't installed.

Beside an installed wheel its `.pth` file switches a backend on. From a checkout this does, by the same file.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

WITHOUT = ("tabulate", "openai", "tiktoken", "prettytable", "matplotlib", "seaborn", "httpx", "anthropic")
TESTS = Path(__file__).resolve().parents[2]
sys.path.append(str(TESTS))
if os.environ.get("PROMPTPRESS_TEST_COMMAND") != "checkout":
    sys.path.append(str(TESTS.parent / "startup" / "purelib"))


def _stand_in() -> None:
    import stubs
    from harness.installed import AISBENCH, OPENCOMPASS

    stubs.ANSWERS.update(
        {"torch.cuda.device_count": int, "torch.npu.device_count": int, "torch.distributed.get_rank": int}
    )
    stubs.install((*OPENCOMPASS.stand_ins, *AISBENCH.stand_ins, *WITHOUT))
    # Datasets whose own code calls what only scoring needs are left out, as in `installed`.
    for name in OPENCOMPASS.bare:
        root, _, below = name.partition(".")
        spec = importlib.util.find_spec(root)
        if spec is not None and spec.submodule_search_locations:
            bare = ModuleType(name)
            bare.__path__ = [str(Path(spec.submodule_search_locations[0]) / below)]
            bare.__spec__ = importlib.util.spec_from_loader(name, loader=None, is_package=True)
            sys.modules[name] = bare


if os.environ.get("PROMPTPRESS_TEST_PROFILE"):
    import cpu_parts

    cpu_parts.start(os.environ["PROMPTPRESS_TEST_PROFILE"])
if os.environ.get("PROMPTPRESS_TEST_COMMAND"):
    sys.path[:] = [path for path in sys.path if not path.endswith("system_torch")]  # slow to import, and not needed
    _stand_in()
if os.environ.get("PROMPTPRESS_BACKEND"):
    import promptpress_startup  # noqa: F401
