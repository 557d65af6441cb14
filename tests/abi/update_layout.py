#!/usr/bin/env python3
"""Writes layout.txt anew from the headers: sizes and offsets of every struct of the ABI, and the numbers of codes and ops.

Run it only together with a change of TN_ABI_MINOR (members were appended) or TN_ABI_MAJOR. The members' names are read
from the headers, their places come from the compiler; a gap that is more than padding means that a name was missed.
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "../../sdk/include")


def headers():
    folder = os.path.join(INCLUDE, "tenon")
    return "\n".join(open(os.path.join(folder, f), encoding="utf-8").read() for f in sorted(os.listdir(folder)))


def strip(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def members(text, name):
    body = re.search(r"struct %s \{(.*?)\n\}" % name, text, re.S).group(1)
    out = []
    for declaration in body.split(";"):
        declaration = " ".join(declaration.split())
        if not declaration:
            continue
        function = re.search(r"\(\*(\w+)\)", declaration)
        if function:
            out.append(function.group(1))
            continue
        for part in declaration.split(","):
            out.append(re.search(r"(\w+)\s*(\[[^]]*\])?$", part.strip()).group(1))
    return out


def main():
    text = strip(headers())
    names = re.search(r"#define TN_STRUCTS\(X\)(.*?)\n\n", text, re.S).group(1)
    structs = re.findall(r"X\((\w+)\)", names)
    numbers = re.findall(r"\bX\((TN_\w+), -?\d+, \"", text)
    numbers += ["TN_OP_" + n for n in re.findall(r"\bX\((\w+), \d+, tn_\w+\)", text)]
    for block in re.findall(r"enum \{([^{}]*)\}", text):
        numbers += [n for n in re.findall(r"\b(TN_[A-Z0-9_]+)\s*=", block) if n not in numbers]
    lines = []
    for s in structs:
        lines.append('printf("struct %s %%zu\\n", sizeof(%s));' % (s, s))
        for m in members(text, s):
            lines.append('printf("member %s %s %%zu %%zu\\n", offsetof(%s, %s), sizeof(((%s *)0)->%s));' % (s, m, s, m, s, m))
    lines += ['printf("number %s %%lld\\n", (long long)%s);' % (n, n) for n in numbers]
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "a.c"), os.path.join(folder, "a")
        with open(source, "w", encoding="utf-8") as f:
            f.write('#include "tenon/plugin.h"\n#include <stdio.h>\nint main(void) {\n%s\n}\n' % "\n".join(lines))
        subprocess.run(["cc", "-D_GNU_SOURCE", "-I", INCLUDE, source, "-o", program], check=True)
        out = subprocess.run([program], stdout=subprocess.PIPE, check=True, text=True).stdout
    end, size = 0, 0
    for line in out.splitlines():
        word = line.split()
        if word[0] == "struct":
            if size - end >= 8:
                sys.exit(f"a member is missing before: {line}")
            size, end = int(word[2]), 0
        elif word[0] == "member":
            if int(word[3]) - end >= 8 or int(word[3]) < end:
                sys.exit(f"a member is missing before: {line}")
            end = int(word[3]) + int(word[4])
    with open(os.path.join(HERE, "layout.txt"), "w", encoding="utf-8") as f:
        f.write("# The frozen layout of the ABI (x86-64, aarch64): written by update_layout.py, checked when the tests are built.\n")
        f.write(out)


main()
