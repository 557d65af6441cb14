#!/bin/sh
# check.sh [--fast]: sets up on a fresh Debian 12, builds and runs every test. --fast leaves out the sanitizer builds, the
# fuzzers and the fetching of the real models.
set -eu
cd "$(dirname "$0")"
umask 022 # a plugin folder that a group may write is not trusted
. ./packages.sh
fast=${1:-}

# shellcheck disable=SC2086
install_packages $build_packages $model_packages $test_packages
command -v ccache >/dev/null && export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
jobs=$(nproc)

run() { # run PRESET [ctest arguments]
    preset=$1
    shift
    echo "== $preset"
    cmake --preset "$preset" -DTENON_TESTS=ON >"build-$preset.log" 2>&1 || { cat "build-$preset.log"; exit 1; }
    cmake --build --preset "$preset" >"build-$preset.log" 2>&1 || { tail -60 "build-$preset.log"; exit 1; }
    rm -f "build-$preset.log"
    [ $# -gt 0 ] || return 0
    ctest --preset "$preset" "$@"
    folder=build-$preset
    [ "$preset" = release ] && folder=build
    echo "Skipped in $preset:"
    grep -hE '^(\[SKIP\]|SKIP|skipped)|skipped: ' "$folder/Testing/Temporary/LastTest.log" | sort -u || echo "nothing"
}

if [ "$fast" != --fast ]; then
    TENON_TEST_SMOLLM2=$(tests/models/fetch.sh smollm2)
    TENON_TEST_GEMMA3=$(tests/models/fetch.sh gemma3)
    TENON_TEST_MINILM=$(tests/models/fetch.sh minilm)
    export TENON_TEST_SMOLLM2 TENON_TEST_GEMMA3 TENON_TEST_MINILM
fi
if [ "$fast" != --fast ]; then
    run asan -j "$jobs" -LE slow
    run tsan -j 1
    run fuzz
    tests/fuzz/run_fuzzers.sh build-fuzz 10
fi
run release -j "$jobs"
