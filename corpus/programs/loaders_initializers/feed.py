"""Feed batches through loaders, each with its own way of saying what its workers do first.

``feed.py METHOD PERSISTENT``: the start method, and 1 for workers that stay over both epochs. What cannot be pickled
is tried where workers are forked.
"""

import functools
import os
import pickle
import sys

from loaders import Batches, Counted, Loader, Tuned
from torch.utils.data import DataLoader, Dataset

SIZE = 4


def mark(name):
    """Counts a call on its own account, where it is asked for."""
    folder = os.environ.get("MARKS_FOLDER")
    if folder:
        with open(os.path.join(folder, str(os.getpid())), "a") as stream:
            stream.write(name + "\n")


class Numbers(Dataset):
    def __len__(self):
        return SIZE

    def __getitem__(self, index):
        return self.read(index)

    def read(self, index):
        mark("Numbers.read")
        with open(os.devnull) as stream:
            stream.read()
        return index


class Seeds:
    def __init__(self, base):
        self.base = base

    def set(self, number):
        mark("Seeds.set")
        with open(os.devnull) as stream:
            stream.read()


def seed(number, base=0):
    mark("seed")
    with open(os.devnull) as stream:
        stream.read()


def plain_loaders(method, persistent):
    data = Numbers()
    options = {"num_workers": 1, "multiprocessing_context": method, "persistent_workers": persistent}
    given = {**options, "worker_init_fn": seed}
    for init in (None, seed):
        yield f"variable {init is None}", DataLoader(data, worker_init_fn=init, **options)
    yield "none", DataLoader(data, num_workers=1, multiprocessing_context=method, persistent_workers=persistent)
    yield "method", Loader(data, worker_init_fn=Seeds(1).set, **options)
    yield "partial", Batches(data, worker_init_fn=functools.partial(seed, base=2), **options)
    yield "key", DataLoader(data, **given)
    yield "no key", Tuned(data, **options)
    make = functools.partial(DataLoader, **options)
    yield "later", make(data, worker_init_fn=seed)
    yield (
        "position",
        Counted(data, 2, False, None, None, 1, None, False, False, 0, seed, method),
    )


def local_loaders(method, persistent):
    def inner(number):
        seed(number)

    data = Numbers()
    options = dict(num_workers=2, multiprocessing_context=method, persistent_workers=persistent)
    yield "lambda", DataLoader(data, worker_init_fn=lambda number: seed(number), **options)
    yield "nested", DataLoader(data, worker_init_fn=inner, **options)
    yield (
        "loader in a loader",
        DataLoader(
            DataLoader(data, num_workers=1).dataset,  # the inner one makes no worker
            worker_init_fn=inner,
            **options,
        ),
    )


def pickles(thing):
    try:
        pickle.dumps(thing)
    except Exception:
        return False
    return True


def feed(name, loader, epochs=2):
    total = 0
    for _ in range(epochs):
        for batch in loader:
            total += int(batch.sum())
    print(name, total)


def main(method, persistent):
    for name, loader in plain_loaders(method, persistent):
        print("pickles", pickles(loader.worker_init_fn))
        feed(name, loader)
    if method == "fork":
        for name, loader in local_loaders(method, persistent):
            print("pickles", pickles(loader.worker_init_fn))
            feed(name, loader)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "1")
