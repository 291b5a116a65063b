"""Enters the laboratory: everything that a decorator would give away, on every path that a call can take."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import sys
import warnings
from pathlib import Path

import lab
from lab import devices, numbers
from lab.devices import *


def run(folder: Path) -> list[object]:
    folder.mkdir(parents=True)
    results: list[object] = []
    for model in (Camera, Scanner, devices.Proxy):
        device = model(folder, image_size=(2, 3), epoch="first")
        device.path = folder / f"{model.__name__}.txt"
        device.save("a b")
        results += [device.load(), device.area, device.area, model.volume(2, 3), model.named("x").__class__.__name__]
        del device.path
        results.append(device.step(2))
        copied = pickle.loads(pickle.dumps(device))
        results.append((copied == device, len(copied), repr(copied)))
    return results


async def gather(folder: Path) -> list[object]:
    async with devices.Line() as line:
        found = await asyncio.gather(*(line.fetch(folder, n) for n in range(3)), return_exceptions=True)
    return [type(item).__name__ if isinstance(item, Exception) else item for item in found]


def main() -> int:
    folder = Path(sys.argv[1])
    print(run(folder))
    print(asyncio.run(gather(folder)))
    print(numbers.counted(4), numbers.factorial(5), list(numbers.squares(3)), numbers.where_am_i())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        numbers.old_way()
    print([(str(w.message), w.filename.rpartition("/")[2]) for w in caught])
    print(sorted(name for name in dir(lab) if not name.startswith("_")))
    print(sorted(name for name in globals() if name[0].islower()))
    print(inspect.iscoroutinefunction(gather), inspect.signature(Camera.load), Camera.area.__class__.__name__)
    for wrong in (numbers.fails, lambda: numbers.Table()["absent"]):
        try:
            wrong()
        except LookupError as error:
            print(type(error).__name__, error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
