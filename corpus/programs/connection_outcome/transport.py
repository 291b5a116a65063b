"""A connection to a node that can be pushed to, pulled from, and told to execute something; it fails in many ways."""

import subprocess
import sys
from pathlib import Path


class ConnectionLost(Exception):
    pass


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("an error that cannot be said")


class Connection:
    def __init__(self, folder, host):
        self.folder = Path(folder)
        self.host = host

    def push(self, name, data):
        """Send bytes; the node refuses what it does not like."""
        if len(data) > 1000:
            raise ConnectionLost(f'"{name}" is too large\n\tfor {self.host}: C:\\full \u2028 caf\u00e9')
        size = len(data)
        (self.folder / name).write_bytes(data)
        return size

    def pull(self, name):
        """Receive bytes, an empty file as None."""
        data = (self.folder / name).read_bytes()
        if not data:
            return None
        return data

    def exec(self, source):
        """Run Python there."""
        done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
        if done.returncode:
            raise Unspeakable(done.stderr)
        return done.stdout.strip()

    def lines(self, name):
        """Line by line; the caller may lose interest."""
        with (self.folder / name).open() as stream:
            for line in stream:
                count = len(line)
                yield line


def attempt(function, *arguments):
    try:
        print(function.__name__, repr(function(*arguments))[:40])
    except Exception as error:
        tail = error.__traceback__
        depth = 0
        while tail:
            depth, tail = depth + 1, tail.tb_next
        print(function.__name__, type(error).__name__, depth, type(error.__context__).__name__)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    connection = Connection(folder, 'host-\ud800-"7"')
    attempt(connection.push, "a", b"1\n22\n333\n")
    attempt(connection.push, "b", b"x" * 2000)
    attempt(connection.push, "empty", b"")
    attempt(connection.pull, "a")
    attempt(connection.pull, "empty")
    attempt(connection.pull, "missing")
    attempt(connection.exec, "print(6 * 7)")
    attempt(connection.exec, "raise SystemExit(3)")
    print(len(list(connection.lines("a"))))
    for line in connection.lines("a"):
        print(line, end="")
        break
    try:
        raise KeyError("outer")
    except KeyError:
        print(connection.push("c", b"within a handler"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
