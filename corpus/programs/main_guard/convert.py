#!/usr/bin/env python3
"""Turn a table of readings into totals by day."""
import csv
import json
import sys
from pathlib import Path

class BadReading(Exception):
    """A line that has no number where one belongs."""


def make_readings(path, broken):
    with open(path, "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["day", "value"])
        for number in range(12):
            writer.writerow([f"d{number // 4}", number * 1.5])
        if broken:
            writer.writerow(["d3", broken])


def read_number(text):
    try:
        for word in text.split():
            return float(word)
    except ValueError:
        raise BadReading(text) from None


def read_readings(path):
    totals = {}
    with open(path, newline="") as stream:
        for row in csv.DictReader(stream):
            totals[row["day"]] = totals.get(row["day"], 0) + read_number(row["value"])
    return totals


def write_totals(totals, path):
    with open(path, "w") as stream:
        json.dump(totals, stream)
    print(json.dumps(totals))


def convert(folder, broken=""):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    make_readings(folder / "readings.csv", broken)
    totals = read_readings(folder / "readings.csv")
    write_totals(totals, folder / "totals.json")
    if broken:
        raise RuntimeError("unreachable")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("usage: convert.py FOLDER [BROKEN]")
        sys.exit(2)
    try:
        convert(*sys.argv[1:])
    except BadReading as error:
        print("bad reading:", error)
        sys.exit(3)
    print("done")
