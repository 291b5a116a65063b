"""The same work in processes and pools of every kind. ``children.py METHOD``: the start method."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.pool import Pool

METHOD = sys.argv[1] if len(sys.argv) > 1 else "fork"
context = multiprocessing.get_context(METHOD)


def mark(name):
    """Counts a call on its own account, where it is asked for."""
    folder = os.environ.get("MARKS_FOLDER")
    if folder:
        with open(os.path.join(folder, str(os.getpid())), "a") as stream:
            stream.write(name + "\n")


def touch():
    mark("touch")
    with open(os.devnull) as stream:
        stream.read()


def work(count, *, extra=0):
    mark("work")
    for _ in range(count + extra):
        touch()
    return count


def prepare(count):
    mark("prepare")
    for _ in range(count):
        touch()


def leave_thread():
    mark("leave_thread")
    with open(os.devnull) as stream:
        stream.read()

    def later():
        time.sleep(0.2)
        touch()

    threading.Thread(target=later).start()


def ends(code):
    touch()
    sys.exit(code)


def fails():
    touch()
    raise ValueError("on purpose")


def waits(ready):
    touch()
    ready.set()
    time.sleep(60)


class Worker(context.Process):
    def __init__(self, count):
        super().__init__(name="worker")
        self.count = count

    def run(self):
        mark("Worker.run")
        for _ in range(self.count):
            touch()


class Quiet(context.Process):
    def run(self):
        try:
            super().run()
        except ValueError:
            sys.exit(9)


class Titled(multiprocessing.get_context("fork").Process):
    def __init__(self, count):
        super().__init__(target=work, args=(count,), name="titled")


def join(*processes):
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [(process.name, process.exitcode) for process in processes]


def in_processes():
    print(
        join(
            context.Process(target=work, args=(2,), kwargs={"extra": 1}, name="named"),
            context.Process(None, work, "positional", (1,)),
            context.Process(target=leave_thread, name="thread"),
            context.Process(target=ends, args=(3,), name="ends"),
            Worker(2),
            Quiet(target=fails, name="quiet"),
            Titled(2),
        )
    )


def stopped():
    ready = context.Event()
    process = context.Process(target=waits, args=(ready,))
    process.start()
    ready.wait()
    process.terminate()
    process.join()
    print("stopped", process.exitcode == -signal.SIGTERM)


def handed(given):
    print(join(given.Process(target=work, args=(1,), name="handed")))
    with given.Pool(1) as pool:
        print("handed", pool.map(work, [1, 2]))


def in_pools():
    with context.Pool(2) as pool:
        print("pool", pool.map(work, [1, 2, 3, 1]))
    with context.Pool(1, prepare, (1,)) as pool:
        print("pool", pool.map(work, [1, 2]))
    pool = Pool(processes=1, initializer=prepare, initargs=(2,), maxtasksperchild=9, context=context)
    print("pool", [pool.apply(work, (number,)) for number in (1, 2)])
    pool.close()
    pool.join()
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        print("executor", list(executor.map(work, [1, 2])))
    with ProcessPoolExecutor(1, context, prepare, (1,)) as executor:
        print("executor", list(executor.map(work, [1, 2])))


if __name__ == "__main__":
    in_processes()
    stopped()
    handed(context)
    in_pools()
