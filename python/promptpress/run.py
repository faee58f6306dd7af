"""A command, `python -m promptpress.run COMMAND...`, that runs a harness's command line with its bulk backend on.

    python -m promptpress.run opencompass configs/eval.py

sets PROMPTPRESS_BACKEND to all backends and runs `opencompass configs/eval.py`. The processes that the command starts
inherit the variable.
"""

from promptpress_harness.run import main

from promptpress._importing import name_publicly as _name_publicly

__all__ = ["main"]

_name_publicly("promptpress.run", {"main": main})
if __name__ == "__main__":
    main()
