#!/usr/bin/env python3
"""Copies sources, and the headers that are named in a list, with each mistake of a list as a switch in them (mutant.h), and writes the list as C++.

  make_mutants.py --list rig.txt --root ROOT --out FOLDER app/supervisor/moving/moves.cpp …

A mistake in the list: its name, the commit that mended it, the first seed that found it, and why it matters; then where,
and what stands there instead of what. The lines that it replaces must stand in the file exactly once.

  = name (1a2b3c4d, seed 17): why              or `not found`; `seed 17 of placement` where those seeds find it
  @ app/supervisor/moving/moves.cpp
  -   whole statements as they are
  +   what the mistake makes of them; none: they are left out
  < an expression as it is
  > what the mistake makes of it
  . lines that stand before these, and stay; none are needed where the others are there once
"""

import argparse
import re
import sys
from pathlib import Path

HEAD = re.compile(r"(\w+) \(([^,()]+), (?:seed (\d+)|not found)(?: of (changes|placement|groups|mosaics|together|cluster))?\): (.+)")


class Edit:
    def __init__(self, file, mutant, mark):
        self.file, self.mutant, self.is_statement = file, mutant, mark == "-"
        self.above, self.before, self.after = [], [], []


def read_list(path):
    mutants, edits, file = [], [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        mark, text = line[:1], line[2:]
        if mark in ("", "#"):
            continue
        if mark == "=":
            head = HEAD.fullmatch(text)
            if not head or any(mutant[0] == head[1] for mutant in mutants):
                sys.exit(f"{path}:{number}: not `= name (commit, seed 1): why`, or a second one of that name")
            mutants.append(head.groups())
            file = None
        elif mark == "@":
            file, edit, above = text, None, []
        elif mark == "." and file:
            edit = None
            above.append(text)
        elif mark in "-<" and file:
            if edit is None or edit.after or edit.is_statement != (mark == "-"):
                edit = Edit(file, mutants[-1][0], mark)
                edit.above, above = above, []
                edits.append(edit)
            edit.before.append(text)
        elif mark in "+>" and file and edit and edit.is_statement == (mark == "+"):
            edit.after.append(text)
        else:
            sys.exit(f"{path}:{number}: cannot be read: {line}")
    return mutants, edits


def choose(edits, original):
    """What stands in the place of `original`, which is the same for all of them."""
    text = ""
    for edit in edits:
        switch, after = f'::campipe::sim::is_mutant("{edit.mutant}")', "\n".join(edit.after)
        text += f"if ({switch}) {{\n{after}\n}} else " if edit.is_statement else f"{switch} ? ({after}) : "
    return f"{{ {text}{{\n{original}\n}} }}" if edits[0].is_statement else f"({text}({original}))"


def copy_with(edits, source, file):
    places = {}
    for edit in edits:
        above = "".join(line + "\n" for line in edit.above)
        before = above + "\n".join(edit.before)
        if source.count(before) != 1:
            sys.exit(f"mutant {edit.mutant}: {file} has its lines {source.count(before)} times:\n{before}")
        begin = source.index(before)
        places.setdefault((begin + len(above), begin + len(before)), []).append(edit)
    text, at = "", 0
    for (begin, end), here in sorted(places.items()):
        if begin < at:
            sys.exit(f"mutant {here[0].mutant}: {file}: another one changes a part of the same lines")
        text += source[at:begin] + choose(here, source[begin:end])
        at = end
    text += source[at:]
    first_include = text.index("#include ")  # behind `#pragma once`
    return text[:first_include] + '#include "tests/sim/mutants/mutant.h"\n' + text[first_include:]


def list_of(mutants):
    rows = "".join(f'    {{"{name}", "{commit}", {seed or "std::nullopt"}, "{of or ""}", R"({why})"}},\n'
                   for name, commit, seed, of, why in mutants)
    return ('#include "tests/sim/mutants/mutant.h"\n\nnamespace campipe::sim {\n\n'
            "const std::vector<Mutant>& all_mutants() {\n  static const std::vector<Mutant> all{\n" + rows +
            "  };\n  return all;\n}\n\n}  // namespace campipe::sim\n")


def write(path, text):
    """Nothing where it is there already, so that it is not compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    mutants, edits = read_list(options.list)
    for edit in edits:
        if edit.file not in options.files:
            sys.exit(f"mutant {edit.mutant}: {edit.file} is none of the files that are copied")
    for file in options.files:
        source = (options.root / file).read_text()
        own = [edit for edit in edits if edit.file == file]
        if own or file.endswith(".cpp"):
            write(options.out / file, copy_with(own, source, file) if own else source)
        else:
            (options.out / file).unlink(missing_ok=True)  # others include the original
    write(options.out / "list.cpp", list_of(mutants))


main()
