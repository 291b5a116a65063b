"""Count the letters of a text that the script writes first."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

folder = Path(sys.argv[1])
limit = int(sys.argv[2]) if len(sys.argv) > 2 else 100


def write_text(path: Path) -> None:
    with path.open("w") as stream:
        for number in range(50):
            stream.write("letter by letter, line %d\n" % number)


def count_letters(path: Path) -> Counter[str]:
    counted: Counter[str] = Counter()
    with path.open() as stream:
        for line in stream:
            counted.update(letter for letter in line if letter.isalpha())
    return counted


def bars(counted: Counter[str]) -> list[str]:
    lines = []
    for letter, count in sorted(counted.items()):
        lines.append(f"{letter} {'#' * (count // 20)}")
    return lines


folder.mkdir(parents=True, exist_ok=True)
write_text(folder / "text.txt")
counts = count_letters(folder / "text.txt")
for line in bars(counts):
    print(line)
if max(counts.values()) > limit:
    print("more than", limit)
    raise SystemExit(4)
print("within", limit)
