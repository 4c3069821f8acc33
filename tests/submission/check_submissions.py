#!/usr/bin/env python3
"""A second judge of the submission's schema: python3-jsonschema takes what is sound in submissions.json and
refuses all that is broken, and whatever files are given are sound.

usage: check_submissions.py [FILE.json ...]
"""
import copy
import json
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    print("SKIP: jsonschema not installed")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
SCHEMA = HERE.parents[1] / "tools/submission/submission.schema.json"


def patched(document, patch):
    """JSON Patch, of objects and places in lists that are there."""
    document = {"": copy.deepcopy(document)}
    for step in patch:
        *path, last = step["path"].split("/") if step["path"] else [""]
        at = document
        for part in path:
            at = at[int(part)] if isinstance(at, list) else at[part]
        last = int(last) if isinstance(at, list) else last
        if step["op"] == "remove":
            del at[last]
        else:
            at[last] = step["value"]
    return document[""]


def main():
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    judge = jsonschema.Draft7Validator(schema)
    cases = json.loads((HERE / "submissions.json").read_text())
    passed = failed = 0
    sound = [("sound", cases["sound"])] + [(c["name"], patched(cases["sound"], c["patch"]))
                                            for c in cases["also_sound"]]
    sound += [(name, json.loads(pathlib.Path(name).read_text())) for name in sys.argv[1:]]
    broken = [(c["name"], patched(cases["sound"], c["patch"])) for c in cases["broken"]]
    for wanted, documents in ((True, sound), (False, broken)):
        for name, document in documents:
            errors = [e.message for e in judge.iter_errors(document)]
            if (not errors) == wanted:
                passed += 1
            else:
                failed += 1
                print(f"FAILED: {name}: {'refused: ' + '; '.join(errors) if wanted else 'taken'}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not broken else 0


if __name__ == "__main__":
    sys.exit(main())
