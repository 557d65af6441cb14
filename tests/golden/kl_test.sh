#!/bin/sh
# kl_test.sh: mean KL divergence of SmolLM2-135M (Q4_1) to a float64 run of the same file, at most the figures of llama.cpp
# b11434 (f32 cache 2.77e-3, f16 3.03e-3). The results are the same bits on every machine, so this is no matter of luck.
set -eu
here=$(dirname "$0")
golden=$TENON_TEST_SHARED/models/SmolLM2-135M-Instruct.Q4_1.golden.npz
ids=$TENON_TEST_SHARED/models/ids/SmolLM2-135M-Instruct.Q4_1.ids.txt
[ -n "${TENON_TEST_SMOLLM2:-}" ] || { echo "SKIP kl_smollm2: the model is not at hand (TENON_TEST_SMOLLM2)"; exit 77; }
[ -e "$golden" ] || { echo "SKIP kl_smollm2: no golden distribution in the shared test data"; exit 77; }
python3 -c 'import numpy' 2>/dev/null || { echo "SKIP kl_smollm2: no numpy"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for case in f32:2.77e-3 f16:3.03e-3; do
    "$TENON_TEST_BUILD/bin/tenon" logits -m "$TENON_TEST_SMOLLM2" --ids "$(cat "$ids")" --kv "${case%:*}" -o "$out/logits.npy"
    echo "cache ${case%:*}:"
    python3 "$here/kl.py" "$out/logits.npy" "$golden" --limit "${case#*:}"
done
