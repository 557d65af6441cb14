#!/bin/sh
# minilm_test.sh: cosines of all-MiniLM-L6-v2's embeddings to those of a float64 run of the published float32 weights: above
# 0.999 from the Q8_0 file, above 0.9999 with these weights as F16. The results are the same bits on every machine.
set -eu
here=$(dirname "$0")
model=$TENON_TEST_SHARED/models/all-MiniLM-L6-v2-Q8_0.gguf
golden=$TENON_TEST_SHARED/models/all-MiniLM-L6-v2.golden.json
[ -e "$model" ] && [ -e "$golden" ] || { echo "SKIP minilm: no model in the shared test data"; exit 77; }
echo "Q8_0:"
python3 "$here/minilm.py" "$TENON_TEST_BUILD/bin/tenon" "$model" "$golden" 0.999
[ -n "${TENON_TEST_MINILM:-}" ] || { echo "SKIP minilm F16: the weights are not at hand (TENON_TEST_MINILM)"; exit 0; }
python3 -c 'import numpy' 2>/dev/null || { echo "SKIP minilm F16: no numpy"; exit 0; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
python3 "$here/../tools/minilm_f16.py" "$model" "$TENON_TEST_MINILM" "$out/f16.gguf"
echo "F16:"
python3 "$here/minilm.py" "$TENON_TEST_BUILD/bin/tenon" "$out/f16.gguf" "$golden" 0.9999
