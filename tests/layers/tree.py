"""What the checks of this folder share: the sources they read, and reasons that must still hold."""

import os
import sys


def sources(root, rooms, pattern):
    """(path, text) of every file below the rooms whose name the pattern finds, in order."""
    for room in rooms:
        for folder, folders, names in os.walk(os.path.join(root, room)):
            folders.sort()
            for name in sorted(names):
                if not pattern.search(name):
                    continue
                path = os.path.relpath(os.path.join(folder, name), root)
                with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
                    yield path, f.read()


def stale_reasons(root, reasons, used):
    """One line for each (path, text) that has a reason and was not met, though the file is there."""
    return [f'{path}: nothing there holds "{text}" any more: take the reason out of this script'
            for path, text in sorted(set(reasons) - used) if os.path.exists(os.path.join(root, path))]


def root_of_arguments():
    return os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", ".."))
