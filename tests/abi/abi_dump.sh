#!/bin/sh
# abi_dump.sh LIBRARY DUMP: the ABI's types today against the frozen dump, by libabigail. The dump is made by
#     abidw --no-comp-dir-path --no-corpus-path --no-show-locs build/lib/libabi_surface.so |
#         sed "s,path=.[^ ]*abi_surface.c.,path='tests/abi/abi_surface.c'," >tests/abi/tenon.abi
set -eu
command -v abidiff >/dev/null || { echo "SKIP abi_dump: abidiff (package abigail-tools) is not installed"; exit 77; }
abidiff --no-added-syms "$2" "$1" && echo "the types are those of the frozen dump"
