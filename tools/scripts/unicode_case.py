#!/usr/bin/env python3
"""Writes runtime/kernels/reference/unicode_case.inc: Unicode's one-to-one case mappings as ranges.

usage: unicode_case.py > runtime/kernels/reference/unicode_case.inc
"""

import unicodedata


def lower(c):
    return "i" if c == "\u0130" else c.lower()


def upper(c):
    # of letters with an iota below, the title case is the one letter; the upper case is two
    return c.upper() if len(c.upper()) == 1 else c.title()


def ranges(mapping):
    """[first, last, step, delta]: first, first + step ... last, each moved by delta."""
    found = []
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        c = chr(code)
        m = mapping(c)
        if len(m) != 1 or m == c:
            continue
        delta = ord(m) - code
        if found and found[-1][3] == delta:
            first, last, step, _ = found[-1]
            if (first == last and code - last in (1, 2)) or (first != last and code - last == step):
                found[-1] = [first, code, code - last, delta]
                continue
        found.append([code, code, 1, delta])
    return found


def main():
    print(f"// Unicode {unicodedata.unidata_version}: written by tools/scripts/unicode_case.py.")
    for name, mapping in (("kLower", lower), ("kUpper", upper)):
        print(f"constexpr CaseRange {name}[] = {{")
        for first, last, step, delta in ranges(mapping):
            print(f"    {{0x{first:X}, 0x{last:X}, {step}, {delta}}},")
        print("};")


if __name__ == "__main__":
    main()
