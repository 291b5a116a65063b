"""Script a layer and apply it; use the classes that its annotations name from Python, too."""

import sys
from pathlib import Path

import torch
from graphs import Counts, Layer, Mode, Scale, Sparse, Window


def save(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / name, "w") as stream:
        stream.write(text)
    return (folder / name).read_text()


def main():
    layer = torch.jit.script(Layer(2))
    print(layer(torch.ones(3)).tolist())
    adjacency = Sparse.make([1, 2, 3])
    print(adjacency.total(), len(adjacency.storage), adjacency.shown("of", "three"), adjacency.describe("base"))
    print(Window(Scale(2), 3).area(), Mode.SUM.label())
    counts = Counts()
    for number in range(4):
        counts.add(save(Path(sys.argv[1]), f"{number}.txt", str(number % 2)))
    print(counts.names())


if __name__ == "__main__":
    main()
