"""The same work in threads, forked children, a child that leaves by os._exit, and a second interpreter."""

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def fetch(folder, number):
    path = folder / f"{number}.txt"
    with open(path, "w") as stream:
        stream.write("x" * number)
    return measure(path)


def measure(path):
    with open(path) as stream:
        return len(stream.read())


def fetch_all(folder, numbers):
    total = 0
    for number in numbers:
        total += fetch(folder, number)
    return total


def fail(folder):
    with open(folder / "missing" / "file") as stream:
        return stream.read()


def in_threads(folder):
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda number: fetch(folder, number), range(12)))
    thread = threading.Thread(target=fetch_all, args=(folder, range(20, 25)))
    thread.start()
    thread.join()
    return sum(results)


def in_children(folder):
    fork = multiprocessing.get_context("fork")
    children = [fork.Process(target=fetch_all, args=(folder, range(start, start + 5))) for start in (30, 40)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    return [child.exitcode for child in children]


def in_fork(folder):
    pid = os.fork()
    if pid == 0:
        fetch_all(folder, range(50, 56))
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def in_interpreter(folder):
    return subprocess.run([sys.executable, __file__, str(folder), "again"]).returncode


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 2:
        sys.exit(fetch_all(folder, range(60, 63)))
    print("threads", in_threads(folder))
    print("children", in_children(folder))
    print("fork", in_fork(folder))
    sys.stdout.flush()
    print("interpreter", in_interpreter(folder))
    try:
        fail(folder)
    except OSError as error:
        print("failed", type(error).__name__)
