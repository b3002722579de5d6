#!/usr/bin/env python3
"""Lists a test program's tests for ctest: a file of CMake with an add_test() for each process to be run.

A suite that leaves its process as it was runs in one process. One that starts processes, or changes what belongs to the
process (its environment, signals, limits), or may be skipped, has a process for each test: its files, and the files of
tests/ that these include, are searched for the calls. tests/suites.txt has what suites need besides.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

OWN_PROCESS = re.compile(
    r"\b(fork|vfork|posix_spawnp?|popen|system|exec[lv]p?e?|unshare|setns|kill|raise|abort|sigaction|signal|"
    r"sigprocmask|pthread_sigmask|prctl|setrlimit|prlimit|chdir|umask|setlocale|tzset|setenv|unsetenv|putenv|dup2|"
    r"EXPECT_DEATH|ASSERT_DEATH|EXPECT_EXIT|ASSERT_EXIT|GTEST_SKIP)\s*\(|\bEnvironment\b")
INCLUDE = re.compile(r'^#include "(tests/[^"]+)"', re.MULTILINE)


def fail(text):
    sys.exit(f"discover.py: {text}")


def read_table(file):
    """Name → {"timeout": "300", "alone": "", …}."""
    table = {}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        settings = dict(word.partition("=")[::2] for word in words[1:])
        unknown = set(settings) - {"timeout", "alone", "quiet", "first", "apart", "together"}
        if unknown or not settings or words[0] in table:
            fail(f"{file}:{number}: cannot be read: {line}")
        table[words[0]] = settings
    return table


def needs_own_process(source, root, seen):
    """Whether a source, or what it includes of tests/, has a call after which a process is another one."""
    if source in seen or not (root / source).exists():
        return False
    seen.add(source)
    text = re.sub(r"//.*", "", (root / source).read_text())
    if OWN_PROCESS.search(text):
        return True
    below = INCLUDE.findall(text)
    below += [header[:-2] + ".cpp" for header in below]
    return any(needs_own_process(each, root, seen) for each in below)


def tests_of(program):
    """Suites as gtest describes them, each test with its file."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "tests.json"
        # What a library leaves behind is not looked for here: ctest has the suppressions.
        ran = subprocess.run([program, "--gtest_list_tests", f"--gtest_output=json:{out}"], capture_output=True, text=True,
                             env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"})
        if ran.returncode != 0 or not out.exists():
            fail(f"{program} cannot list its tests: {ran.stdout}{ran.stderr}")
        return json.loads(out.read_text())["testsuites"]


def check_table(table, sources, lists):
    names = set()
    for file in lists:
        for test in re.findall(r"^add_test\(\[=+\[(.+?)\]=+\]", file.read_text(), re.MULTILINE):
            suite = test.split(".")[0]
            names |= {suite, suite.split("/")[-1]}
    unknown = [name for name in table if name not in names and not list((sources / "tests").glob(f"**/{name}.cpp"))]
    if unknown:
        fail(f"tests/suites.txt names neither a suite nor a file: {', '.join(unknown)}")


def quoted(text):
    for length in range(1, 10):
        mark = "=" * length
        if f"]{mark}]" not in text:
            return f"[{mark}[{text}]{mark}]"
    return fail(f"cannot be written for CMake: {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", required=True, type=Path, help="the repository")
    parser.add_argument("--program")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--slower", type=int, default=1, help="timeouts are so many times as long")
    parser.add_argument("--check", nargs="+", type=Path, metavar="LIST", help="that tests/suites.txt names what there is")
    options = parser.parse_args()
    table = read_table(options.sources / "tests/suites.txt")
    if options.check:
        return check_table(table, options.sources, options.check)
    apart = {}
    lines = []

    def add(name, wanted, source, settings):
        properties = {
            "LABELS": source.split("/")[1],
            "TIMEOUT": str(int(settings.get("timeout", 120)) * options.slower),
            "SKIP_REGULAR_EXPRESSION": r"\[  SKIPPED \]",
        }
        if "alone" in settings:
            properties["RUN_SERIAL"] = "TRUE"
        if "quiet" in settings:  # behind the one that waits for all others (tests/CMakeLists.txt)
            properties |= {"DEPENDS": "suites", "PROCESSORS": "2"}
        if "first" in settings:
            properties["COST"] = "1000"
        lines.append(f"add_test({quoted(name)} {quoted(options.program)} {quoted('--gtest_filter=' + wanted)})")
        lines.append(f"set_tests_properties({quoted(name)} PROPERTIES "
                     + " ".join(f"{key} {quoted(value)}" for key, value in properties.items()) + ")")

    for suite in tests_of(options.program):
        tests = [test for test in suite["testsuite"] if not test["name"].startswith("DISABLED_")]
        if not tests:
            continue
        # As the compiler was given it: whole, or from the folder of the build.
        files = sorted({re.search(r"tests/([a-z]+/)+[^/]+$", test["file"]).group() for test in tests})
        settings = {}
        for file in files:
            settings |= table.get(Path(file).stem, {})
        settings |= table.get(suite["name"].split("/")[-1], {})
        for file in files:
            if file not in apart:
                apart[file] = needs_own_process(file, options.sources, set())
        if "apart" in settings or ("together" not in settings and any(apart[file] for file in files)):
            for test in tests:
                name = f"{suite['name']}.{test['name']}"
                add(name, name, files[0], settings)
        else:
            add(suite["name"], f"{suite['name']}.*", files[0], settings)
    options.out.write_text("\n".join(lines) + "\n")


main()
