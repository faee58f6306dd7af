"""The process of the command `promptpress`, which is `python -m promptpress` too."""

import gc

from promptpress import _cli


def main() -> int:
    """Run the command as what the process is for.

    Returns:
        The exit code.

    """
    gc.freeze()  # what has been imported stays to the end: collections needn't look through it
    return _cli.main()


if __name__ == "__main__":
    raise SystemExit(main())
