# Mixtures of experts from end to end: importance of each expert, quantising with it, perplexity, generation.
. "$(dirname "$0")/cli.sh"
text=$work/text.txt
seq -s ' the quick brown fox jumps over the lazy dog, ' 1 60 >"$text"

for model in mixtral:2 qwen2moe:2 qwen3moe:2 gpt-oss:2 granitemoe-shared:0 olmoe:0; do
    used=${model#*:} model=$models/${model%:*}.gguf
    expect 0 "$tenon" imatrix -q -m "$model" -f "$text" -c 32 --chunks 3 -o "$work/matrix.gguf" --force; quiet_err
    expect 0 "$tenon" quantize -q -i "$model" --type Q4_0 --imatrix "$work/matrix.gguf" -o "$work/q.gguf" --allow-requantize --force
    expect 0 "$tenon" perplexity -q -m "$model" -f "$text" -c 32 --chunks 3 --json; mv "$work/out" "$work/before"
    expect 0 "$tenon" perplexity -q -m "$work/q.gguf" -f "$text" -c 32 --chunks 3 --json; says '"perplexity"'; mv "$work/out" "$work/after"
    expect 0 "$tenon" run -q -m "$work/q.gguf" --raw -p "the quick" -n 4 --temp 0
    python3 -c 'import gguf' 2>/dev/null || { echo "skipped: counts of experts (no Python package gguf)"; continue; }
    # Each token of a chunk goes to `used` experts (0: as the file says); every layer counts its own. Perplexities are near
    # each other.
    expect_python "$work/matrix.gguf" "$used" "$work/before" "$work/after" <<'END'
import json, sys
import gguf
tensors = {t.name: t.data for t in gguf.GGUFReader(sys.argv[1]).tensors}
counts = {n: t.sum() for n, t in tensors.items() if n.endswith("_exps.weight.counts")}
assert len(counts) >= 6, list(tensors)
used = int(sys.argv[2]) or next(iter(counts.values())) / 96
assert all(c == 96 * used for c in counts.values()), counts
before, after = (json.load(open(f))["perplexity"] for f in sys.argv[3:])
assert 0.5 < after / before < 2, (before, after)
END
done
finish
