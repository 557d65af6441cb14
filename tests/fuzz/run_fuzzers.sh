#!/bin/sh
# run_fuzzers.sh BUILD SECONDS: each libFuzzer program of a build for some seconds, from its corpus. Exits 1 at a finding.
set -eu
build=$(realpath "$1")
seconds=$2
TENON_TEST_BUILD=$build
TENON_TEST_DATA=$(realpath "$(dirname "$0")/../data")
export TENON_TEST_BUILD TENON_TEST_DATA
for fuzzer in "$build"/tests/fuzz/*_fuzz; do
    name=$(basename "$fuzzer" _fuzz)
    corpus=$(cat "$fuzzer.corpus")
    set -- # the fuzzer's dictionary, if it has one
    [ ! -e "$fuzzer.dictionary" ] || set -- -dict="$(cat "$fuzzer.dictionary")"
    work=$(mktemp -d)
    echo "fuzzing $name for $seconds s"
    "$fuzzer" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -artifact_prefix="$build/" -print_final_stats=0 \
        "$@" "$work" "$corpus" >"$work.log" 2>&1 || { tail -40 "$work.log"; exit 1; }
    rm -rf "$work" "$work.log"
done
