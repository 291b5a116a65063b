"""Two forked workers and a spawned one read items; the first process adds them up."""

import multiprocessing
import os

READY = []


def prepare(number):
    with open(os.devnull) as stream:
        READY.append(stream.read() + str(number))


def read(number):
    with open(os.devnull) as stream:
        stream.read()
    return number


def refuse(number):
    with open("/nothing/there") as stream:
        return stream.read() + str(number)


def work(numbers):
    for number in numbers:
        read(number)
    try:
        refuse(numbers[0])
    except OSError:
        pass


def add(step, values):
    total = sum(values)
    return total


def never(number):
    with open(os.devnull) as stream:
        return stream.read() + str(number)


prepare(1)


def main():
    processes = [
        multiprocessing.get_context(method).Process(target=work, args=(range(start, start + 4),))
        for method, start in (("fork", 0), ("fork", 10), ("spawn", 20))
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    for step in range(5):
        add(step, [read(number) for number in range(step + 1)])


if __name__ == "__main__":
    main()
