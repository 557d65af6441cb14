# Where llama.cpp's tools are at hand (TENON_TEST_PEER names their folder): it loads what we quantise, we load what it
# quantises, and both give each tensor the same type.
. "$(dirname "$0")/cli.sh"
peer=${TENON_TEST_PEER:-}
[ -n "$peer" ] || { echo "TENON_TEST_PEER names no folder with llama.cpp's tools: not compared with them"; exit 77; }
source=${TENON_TEST_PEER_MODEL:-$models/llama.gguf}
types_of() {
    "$tenon" info -m "$1" --tensors --json | python3 -c '
import json, sys
for row in json.load(sys.stdin)["tensors"]: print(row["name"], row["type"])' | sort
}
"$tenon" imatrix -q -m "$source" -f "$0" -c 64 --chunks 4 -o "$work/matrix.gguf" >"$work/log" || fail "imatrix"
for type in Q8_0 Q6_K Q5_K_M Q5_K_S Q5_1 Q5_0 Q4_K_M Q4_K_S Q4_1 Q4_0 IQ4_NL IQ4_XS Q3_K_L Q3_K_M Q3_K_S IQ3_M IQ3_S IQ3_XS \
    IQ3_XXS Q2_K Q2_K_S IQ2_M IQ2_S IQ2_XS IQ2_XXS TQ1_0 TQ2_0 F16 BF16; do
    rm -f "$work"/*-q.gguf
    expect 0 "$peer/llama-quantize" --imatrix "$work/matrix.gguf" "$source" "$work/peer-q.gguf" "$type"
    expect 0 "$tenon" quantize -i "$source" -o "$work/our-q.gguf" --type "$type" --imatrix "$work/matrix.gguf"
    same "types of $type" "$(types_of "$work/our-q.gguf")" "$(types_of "$work/peer-q.gguf")"
    expect 0 "$tenon" check -m "$work/peer-q.gguf"
    expect 0 "$tenon" check -m "$work/our-q.gguf"
    expect 0 "$tenon" logits -m "$work/peer-q.gguf" --ids "1 2 3" -n 2
    expect 0 "$peer/llama-bench" -m "$work/our-q.gguf" -p 8 -n 1 -r 1 -t 1
done
expect 0 "$tenon" split -i "$source" -o "$work/shard" --max-tensors 5
expect 0 "$peer/llama-gguf-split" --merge "$work"/shard-00001-of-*.gguf "$work/merged.gguf"
expect 0 "$tenon" fit -m "$work/merged.gguf"; says "fits"
finish
