#!/usr/bin/env python3
"""Counts what a ctest run did, case by case, and closes the run's output.

  test_summary.py BUILD_DIR JUNIT.xml [SKIPS.txt]

Reads ctest's JUnit file; a GoogleTest program counts with each of its cases (test-results/NAME.xml), a
script that ends its output with "N passed, N failed" with those, any other test as one. Prints each line
"COUNT: what was counted" of a test's output, each failure, then "N skipped: reason" by reason (one that SKIPS.txt does not list is a failure), then
"N passed, N failed" as the last line. Exit code: 0 when something passed and nothing failed.
"""

import collections
import os
import re
import sys
import xml.etree.ElementTree as ET

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)
SKIP = re.compile(r"^SKIP: (.*)$", re.M)
COUNT = re.compile(r"^COUNT: (.*)$", re.M)


class Tally:
    def __init__(self):
        self.passed, self.failures, self.skips, self.counts = 0, [], [], []

    def add_gtest(self, name, path):
        """True when the program's own report could be read."""
        try:
            root = ET.parse(path).getroot()
        except (OSError, ET.ParseError):
            return False
        for case in root.iter("testcase"):
            label = f"{name}: {case.get('classname')}.{case.get('name')}"
            skipped = case.find("skipped")
            if case.find("failure") is not None:
                self.failures.append(label)
            elif case.get("status") == "notrun":
                self.skips.append((label, "disabled in the source"))
            elif skipped is not None or case.get("result") == "skipped":
                message = "" if skipped is None else (skipped.text or skipped.get("message") or "")
                lines = [line for line in message.strip().splitlines() if line.strip()]
                # The first line is the place, the reason follows it.
                reason = lines[1] if len(lines) > 1 else (lines[0] if lines else "no reason given")
                self.skips.append((label, reason.strip()))
            else:
                self.passed += 1
        return True

    def add_ctest(self, case, results):
        name, status = case.get("name"), case.get("status")
        output = case.findtext("system-out") or ""
        self.counts += COUNT.findall(output)
        before = len(self.failures)
        report = os.path.join(results, name + ".xml")
        if status in ("notrun", "disabled") and SKIP.search(output) is None:
            self.failures.append(f"{name}: did not run ({(case.find('skipped') is not None and case.find('skipped').get('message')) or 'no program'})")
            return
        if os.path.exists(report) and self.add_gtest(name, report):
            if status == "fail" and len(self.failures) == before:
                self.failures.append(f"{name}: the program failed outside its cases (leak, crash at exit)")
            return
        skip = SKIP.search(output)
        closing = CLOSING.findall(output)
        if skip:
            self.skips.append((name, skip.group(1).strip()))
        elif closing:
            passed, failed = map(int, closing[-1])
            self.passed += passed
            self.failures += [f"{name} ({failed} of {passed + failed})"] if failed == 1 else \
                [f"{name}: case {i + 1} of {failed} failed" for i in range(failed)]
            if status == "fail" and failed == 0:
                self.failures.append(f"{name}: exit code against its own closing line")
        elif status == "run":
            self.passed += 1
        else:
            self.failures.append(f"{name}: {'crashed or timed out' if 'gtest' in name else 'failed'}")


def allowed_reasons(path):
    with open(path, encoding="utf-8") as f:
        return [line.strip() for line in f if line.strip() and not line.startswith("#")]


def main():
    build, junit = sys.argv[1:3]
    tally = Tally()
    try:
        root = ET.parse(junit).getroot()
    except (OSError, ET.ParseError) as e:
        print(f"no test report: {e}")
        print("0 passed, 1 failed")
        return 1
    for case in root.iter("testcase"):
        tally.add_ctest(case, os.path.join(build, "test-results"))

    allowed = allowed_reasons(sys.argv[3]) if len(sys.argv) > 3 else []
    reasons = collections.Counter()
    for label, reason in tally.skips:
        reasons[reason] += 1
        if not any(reason.startswith(a) for a in allowed):
            tally.failures.append(f"{label}: skipped for a reason that tests/skips.txt does not list: {reason}")
    for count in tally.counts:
        print(count)
    for failure in tally.failures:
        print(f"FAILED {failure}")
    for reason, count in sorted(reasons.items()):
        print(f"{count} skipped: {reason}")
    if not reasons:
        print("0 skipped")
    print(f"{tally.passed} passed, {len(tally.failures)} failed")
    return 0 if tally.passed and not tally.failures else 1


if __name__ == "__main__":
    sys.exit(main())
