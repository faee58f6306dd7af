"""Imports the command once, and forks a process for each call of `client.py`."""

import ast
import importlib
import io
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
from typing import Any

# What the command imports when it needs it.
IMPORTED = ["jinja2.sandbox", "pyarrow.compute", "pyarrow.csv", "pyarrow.json", "pyarrow.parquet", "tqdm", "yaml"]


def main(address: str) -> None:
    warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
            connection, _ = listening.accept()
            if os.fork() == 0:
                answer(connection)
                return
            connection.close()


def warm_up() -> None:
    import promptpress_workbench.cli

    rooms = pkgutil.walk_packages(promptpress_workbench.cli.__path__, "promptpress_workbench.cli.")
    for name in [*(room.name for room in rooms), *IMPORTED]:
        importlib.import_module(name)


def answer(connection: socket.socket) -> None:
    """Run the program in one more process, which alone returns, and tell the client how it has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    program, folder, environment, streams = ast.literal_eval(connection.makefile("rb").read().decode())
    process = os.fork()
    if process:
        _, status = os.waitpid(process, 0)
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    connection.close()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(descriptors[number], number)
        os.close(descriptors[number])
        encoding, errors, line_buffering, write_through = streams[number]
        raw: Any = open(number, "wb" if number else "rb", buffering=0 if write_through else -1, closefd=False)  # noqa: SIM115
        stream = io.TextIOWrapper(raw, encoding, errors, line_buffering=line_buffering, write_through=write_through)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.argv = program
    runpy.run_path(program[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1])
