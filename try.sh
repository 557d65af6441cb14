#!/bin/sh
# try.sh [QUESTION]: sets everything up on a fresh Debian 12, fetches a small real model, and asks it a question.
set -eu
cd "$(dirname "$0")"
umask 022 # a plugin folder that a group may write is not trusted
. ./packages.sh
question=${1:-Why is the sky blue? Answer in two sentences.}

# shellcheck disable=SC2086
install_packages $build_packages $model_packages

[ -f build/build.ninja ] || cmake --preset release -DTENON_TESTS=OFF >build.log 2>&1 || { cat build.log >&2; exit 1; }
echo "Building"
cmake --build build >build.log 2>&1 || { tail -50 build.log >&2; exit 1; }
rm -f build.log

model=$(tests/models/fetch.sh smollm2)

build/bin/tenon run -m "$model" --temp 0 -n 128 -p "$question"
