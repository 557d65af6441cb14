#!/bin/sh
# source_format.sh TREE: clang-format 14 agrees with every C file.
set -eu
cd "$1"
tool=$(command -v clang-format-14 || command -v clang-format || true)
case $([ -n "$tool" ] && "$tool" --version) in
*"version 14."*) ;;
*) echo "SKIP source_format: clang-format 14 is not installed"; exit 77 ;;
esac
find core host plugins sdk tests bench -name '*.[ch]' -print0 | xargs -0 "$tool" --dry-run -Werror && echo "all files are formatted"
