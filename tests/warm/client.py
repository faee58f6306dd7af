"""Hands over all that a program is given to the server of `warm`, and ends as the program does there."""

import os
import signal
import socket
import sys


def main(address: str, program: list[str]) -> None:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    socket.send_fds(connection, [b"\n"], [0, 1, 2])
    # The interpreter has decided already what the variables of the environment make of the streams.
    streams = [
        (stream.encoding, stream.errors, stream.line_buffering, stream.write_through)
        for stream in (sys.stdin, sys.stdout, sys.stderr)
    ]
    connection.sendall(ascii((program, os.getcwd(), dict(os.environ), streams)).encode())
    connection.shutdown(socket.SHUT_WR)
    code = int(connection.recv(16))
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
