"""`python -m promptpress` is the command `promptpress`."""

from promptpress._cli import main

if __name__ == "__main__":
    raise SystemExit(main())
