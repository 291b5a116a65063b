"""Pass a growing list around the ring of ranks; every rank keeps what it saw."""

import json
import sys
from pathlib import Path

from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.Get_rank()
size = world.Get_size()


def send_on(seen, rounds):
    world.send([*seen, rank], dest=(rank + 1) % size, tag=rounds)


def receive(rounds):
    return world.recv(source=(rank - 1) % size, tag=rounds)


def save_seen(folder, seen):
    with open(folder / f"rank-{rank}.json", "w") as stream:
        json.dump(seen, stream)


def main(folder):
    if rank == 0:
        folder.mkdir(parents=True, exist_ok=True)
    world.Barrier()
    seen = []
    for rounds in range(4):
        send_on(seen, rounds)
        seen = receive(rounds)
    save_seen(folder, seen)
    lengths = world.gather(len(seen), root=0)
    if rank == 0:
        print("ring of", size, "saw", lengths)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
