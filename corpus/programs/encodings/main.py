#!/usr/bin/env python3
# coding: utf-8
"""Use the oddly written modules."""
from __future__ import annotations; import sys
import os

import bom, crlf, joined, latin

if __name__ == "__main__": 
    out = sys.argv[1]; os.makedirs(out, exist_ok=True)
    for number in range(3): crlf.save(os.path.join(out, "v.json"), {"n": number})
    print(crlf.load(os.path.join(out, "v.json")), crlf.load(os.path.join(out, "none")))
    print(latin.write_names(os.path.join(out, "names.txt")))
    print(len(bom.Reader(os.path.join(out, "names.txt")).read_all()))
    print(joined.sizes(out, ".json"), joined.sizes.__doc__ == "Doc\n  string.\n")
    print(joined.joined_names(out), joined.sizes(out, ".json"))
    print(bom.remove(os.path.join(out, "v.json")))
