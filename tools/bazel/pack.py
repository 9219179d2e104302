"""pack.py FOLDER OUT FILE...: a zip archive of the files, in a folder; the same files give the same bytes."""

import pathlib
import sys
import zipfile

folder, out, *files = sys.argv[1:]
with zipfile.ZipFile(out, "w") as archive:
    for file in sorted(map(pathlib.Path, files)):
        entry = zipfile.ZipInfo(f"{folder}/{file.name}")  # without a date
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, file.read_bytes())
