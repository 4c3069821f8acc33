#!/usr/bin/env python3
"""Finds second doors: JSON that is parsed past trainer/checkpoint/json.h, whose limits then do not hold; text that
commands print past stdout and stderr, which escape names and notice what is not written (tools/wick/terminal.h); calls of
the operating system past runtime/platform, so that the runtime is built where there is none; and the processor's counters
past `wick bench`.

usage: check_doors.py [ROOT]      exit 0: nothing found; 1: one line per finding
"""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tree import root_of_arguments, sources  # noqa: E402

SOURCE = re.compile(r"\.(h|cc)$")
COMMENT = re.compile(r"//.*")
SYSTEM = ("unistd|fcntl|dlfcn|pthread|signal|csignal|sched|dirent|time|ctime|chrono|poll|semaphore|windows|cpuid|thread|"
          "mutex|shared_mutex|condition_variable|future|stop_token|filesystem|fstream|(?:sys|linux|mach)/[^>]+")
DOORS = [  # the rooms, what is not written there, the files and folders that may
    (("graph", "trainer", "quantize", "exporter", "tools"), re.compile(r"[Jj]son::(?:sax_)?parse\("),
     # a tree that keeps the order of keys, of a text that check_json() took
     {"trainer/checkpoint/json.cc", "trainer/loop/run_report.cc"}, "JSON is read by read_json() of trainer/checkpoint/json.h"),
    (("tools",), re.compile(r"\bstd::cout\b|\bstd::cerr\b|\bplain_stderr\("),
     # the steps of training, whose names are the program's own; bars that move the cursor
     {"tools/wick/train.cc", "tools/wick/quantize/quantize.cc", "tools/wick/verify/verify.cc", "tools/wick/terminal.cc", "tools/wick/terminal.h"},
     "commands print to stdout and stderr, which tools/wick/terminal.h guards"),
    (("runtime",), re.compile(rf"^\s*#\s*include\s*<(?:{SYSTEM})(?:\.h)?>|\bthread_local\b"), {"runtime/platform/"},
     "the system is called by runtime/platform alone; a variable of a thread is WICK_THREAD_LOCAL of its system.h"),
    (("runtime", "graph", "trainer", "quantize", "exporter", "tools"), re.compile(r"perf_event"), {"tools/wick/bench/"},
     "the processor's counters are read by `wick bench` alone"),
]


def check_tree(root):
    problems, files = [], 0
    for rooms, pattern, may, rule in DOORS:
        for path, text in sources(root, rooms, SOURCE):
            files += 1
            for i, line in enumerate(text.split("\n"), 1):
                if not path.startswith(tuple(may)) and pattern.search(COMMENT.sub("", line)):
                    problems.append(f"{path}:{i}: {rule}")
    return problems, files


def main():
    problems, files = check_tree(root_of_arguments())
    for problem in problems:
        print(problem)
    print(f"{files} files read, {len(problems)} second doors")
    return 1 if problems or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
