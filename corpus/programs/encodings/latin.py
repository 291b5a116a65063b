# -*- coding: latin-1 -*-
"""Umlaute: äöü ß"""

NAMES = ["Jürgen", "Zoë"]


def write_names(path):
    # Größe
    with open(path, "w", encoding="utf-8") as stream:
        for name in NAMES:
            stream.write(name + "é\n")
    return len(NAMES)
