"""MPI started and ended by hand, in a script without a guard."""

import sys
from pathlib import Path

import mpi4py

mpi4py.rc.initialize = False
mpi4py.rc.finalize = False

from mpi4py import MPI

MPI.Init()
world = MPI.COMM_WORLD


def share_of(rank, size):
    share = []
    for number in range(100):
        if number % size == rank:
            share.append(number)
    return share


def write_share(path, share):
    with open(path, "w") as stream:
        stream.write(" ".join(map(str, share)))


def total(share):
    return world.allreduce(sum(share))


folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for turn in range(3):
    mine = share_of(world.rank, world.size)
    write_share(folder / f"share-{world.rank}-{turn}", mine)
    everyone = total(mine)
if world.rank == 0:
    print("total", everyone)
MPI.Finalize()
