#!/bin/sh
# kl_test.sh MODEL STEM F32 F16: mean KL divergence of a real model to a float64 run of the same file (STEM.golden.npz), at most
# the figures of llama.cpp b11434 with a cache of each type. The results are the same bits on every machine, so this is no
# matter of luck. MODEL: its path, empty: not at hand.
set -eu
here=$(dirname "$0")
model=$1 stem=$2
golden=$TENON_TEST_SHARED/models/$stem.golden.npz
ids=$TENON_TEST_SHARED/models/ids/$stem.ids.txt
[ -n "$model" ] || { echo "SKIP kl $stem: the model is not at hand (tests/models/fetch.sh)"; exit 77; }
[ -e "$golden" ] || { echo "SKIP kl $stem: no golden distribution in the shared test data"; exit 77; }
python3 -c 'import numpy' 2>/dev/null || { echo "SKIP kl $stem: no numpy"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for case in "f32:$3" "f16:$4"; do
    "$TENON_TEST_BUILD/bin/tenon" logits -m "$model" --ids "$(cat "$ids")" --kv "${case%:*}" -o "$out/logits.npy"
    echo "cache ${case%:*}:"
    python3 "$here/kl.py" "$out/logits.npy" "$golden" --limit "${case#*:}"
done
