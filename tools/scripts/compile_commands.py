"""The commands that compile a build's files, one for each."""

import json
import os
import re


def entries_of(build):
    """The entries of BUILD/compile_commands.json. Where files are compiled together (CMake's unity batches), the one
    entry of a batch becomes one for each of its files."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        entries = json.load(f)
    return [each for entry in entries for each in _files_of(entry)]


def _files_of(entry):
    if not os.path.basename(entry["file"]).startswith("unity_"):
        return [entry]
    with open(entry["file"], encoding="utf-8") as f:
        files = re.findall(r'^#include "([^"]+)"', f.read(), re.M)
    return [dict(entry, file=file, command=entry["command"].replace(entry["file"], file)) for file in files]
