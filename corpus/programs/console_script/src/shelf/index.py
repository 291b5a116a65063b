"""The index itself."""

import json
import re
from pathlib import Path

WORD = re.compile(r"[a-z]+")


def words(text):
    return WORD.findall(text)


def read_page(path):
    with open(path) as stream:
        return set(words(stream.read()))


def build(folder):
    """Word -> names of the pages that have it, sorted."""
    index = {}
    for path in sorted(Path(folder).glob("*.txt")):
        for word in read_page(path):
            index.setdefault(word, []).append(path.name)
    return dict(sorted(index.items()))


def save(index, path):
    with open(path, "w") as stream:
        json.dump(index, stream, indent=1)


def load(path):
    with open(path) as stream:
        return json.load(stream)
