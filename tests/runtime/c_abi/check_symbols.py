#!/usr/bin/env python3
"""Holds the runtime library's borders: a shared library exports exactly the C ABI, which the lists have
(tests/layers/check_c_api.py --write makes them of the headers), and the code needs no operator new, no exceptions and no RTTI.
One object is exempt: it catches what RE2 throws.

usage: check_symbols.py LIB.so LIB.a SYMBOLS.txt...      LIB.a: -, where only what is exported is asked
"""

import re
import subprocess
import sys

# operator new/delete, throwing, catching, RTTI: what the runtime does without.
FORBIDDEN = re.compile(r"^(_Zn[wa]|_Zd[la]|__cxa_(throw|rethrow|allocate_exception|begin_catch|guard)|__gxx_personality"
                       r"|_ZTI|__dynamic_cast|_ZSt\d+__throw|_Unwind_Resume)")
EXEMPT = "regex_match.cc.o"


def undefined_by_object(archive):
    """What each object of the archive asks others for."""
    out = subprocess.run(["nm", "-A", "--undefined-only", archive], capture_output=True, text=True, check=True).stdout
    wanted = {}
    for line in out.splitlines():
        place, _, rest = line.rpartition(" U ")
        if place:
            wanted.setdefault(place.strip().rstrip(":").split(":")[-1], set()).add(rest.split("@")[0])
    return wanted


def names(args):
    out = subprocess.run(["nm", *args], capture_output=True, text=True, check=True).stdout
    return [line.split()[-1].split("@")[0] for line in out.splitlines() if len(line.split()) >= 2]


def check_exports(shared, lists):
    """(names that are as listed, the others, said)."""
    want = set()
    for listed in lists:
        with open(listed, encoding="utf-8") as f:
            want |= set(f.read().split())
    got = set(names(["-D", "--defined-only", shared]))
    for name in sorted(got ^ want):
        print(f"{name}: " + ("exported, but not listed" if name in got else "listed, but not exported"))
    return len(got & want), len(got ^ want)


def check_needs(shared, archive):
    wanted = undefined_by_object(archive)
    exempt = wanted.pop(EXEMPT, set())
    outside = set(names(["-D", "--undefined-only", shared])) - exempt
    bad = sorted(n for n in outside.union(*wanted.values()) if FORBIDDEN.match(n))
    for name in bad:
        print(f"{name}: the runtime may not need it")
    return int(not bad), len(bad)


def main():
    shared, archive, *lists = sys.argv[1:]
    passed, failed = check_exports(shared, lists)
    if archive != "-":
        more = check_needs(shared, archive)
        passed, failed = passed + more[0], failed + more[1]
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
