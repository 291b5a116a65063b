"""The command: ``shelf index FOLDER`` and ``shelf find FOLDER WORD``."""

import argparse
import sys
from pathlib import Path

from shelf import __version__
from shelf.index import build, load, save

PAGES = {
    "a.txt": "the rain in spain stays mainly in the plain\n",
    "b.txt": "a plain text and a plainer one\n",
    "c.txt": "nothing here\n",
}


def main(argv=None):
    """Run the command; 0 found, 1 not found, 2 bad usage."""
    parser = argparse.ArgumentParser(prog="shelf")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("what", choices=["index", "find"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("word", nargs="?")
    options = parser.parse_args(argv)
    if options.what == "index":
        return make_index(options.folder)
    return find(options.folder, options.word)


def make_index(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in PAGES.items():
        (folder / name).write_text(text)
    index = build(folder)
    save(index, folder / "index.json")
    print(len(index), "words")
    return find(folder, "plain")


def find(folder, word):
    index = load(folder / "index.json")
    pages = index.get(word, [])
    for page in pages:
        print(page)
    if not pages:
        print("no page has", word, file=sys.stderr)
    return 0 if pages else 1
