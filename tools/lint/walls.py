"""Walls: which folder may include which, and what its code may not say (walls.toml)."""

import re
import tomllib
from pathlib import Path

# Folders whose files must be in a room.
HOUSE = ("compiler/", "dialects/", "runtime/", "tools/ptc/", "tools/ptc-opt/")
SOURCES = (".cpp", ".h", ".hpp", ".td")
INCLUDE = re.compile(r'\s*#?\s*include\s+"((?:compiler|dialects|runtime|test|tools)/[^"]+)"')


def read_table(path=Path(__file__).with_name("walls.toml")):
    return tomllib.loads(path.read_text())


def find_room(file, rooms):
    """The longest row that is the file or a folder around it; None where there is none."""
    around = [file, *map(str, Path(file).parents)]
    return next((place for place in around if place in rooms), None)


def is_in(file, folders):
    return file.startswith(tuple(folder + "/" for folder in folders))


def find_faults(root, files, table):
    """`FILE:LINE: what is wrong` for every include and word in `files` (relative to `root`) that the table forbids."""
    rooms, rows, faults = table["rooms"], table["words"], []
    for name in {name for row in rooms.values() for name in row} - rooms.keys():
        faults.append(f"walls.toml: there is no room {name}")
    for file in files:
        if not file.startswith(HOUSE) or not file.endswith(SOURCES):
            continue
        room = find_room(file, rooms)
        if room is None:
            faults.append(f"{file}:1: it is in no room")
            continue
        words = [row for row in rows if is_in(file, row["folders"]) and not is_in(file, row.get("except", ()))]
        for number, line in enumerate((root / file).read_text().splitlines(), 1):
            if match := INCLUDE.match(line):
                other = find_room(match[1], rooms)
                if other != room and other not in rooms[room]:
                    faults.append(f"{file}:{number}: {room} must not include {match[1]} ({other or 'in no room'})")
            code = line.split("//")[0]
            for row in words:
                if match := re.search(row["pattern"], code):
                    faults.append(f"{file}:{number}: '{match[0]}': {row['why']}")
    return faults
