"""`python -m promptpress` is the command `promptpress`."""

from promptpress.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
