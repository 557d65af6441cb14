# Adapters, control vectors, trace and the names of architectures.
. "$(dirname "$0")/cli.sh"
adapters=$TENON_TEST_DATA/adapters
ids="1 113 200 181 210"

# An adapter with scale 0 changes nothing, one with scale 1 does; the same path twice adds up.
expect 0 "$tenon" logits -m "$models/llama.gguf" --ids "$ids" -n 8; mv "$work/out" "$work/plain"
expect 0 "$tenon" logits -m "$models/llama.gguf" --ids "$ids" -n 8 --lora "$adapters/lora-llama-a.gguf=0"
cmp -s "$work/out" "$work/plain" || fail "scale 0 changed the result"
expect 0 "$tenon" logits -m "$models/llama.gguf" --ids "$ids" -n 8 --lora "$adapters/lora-llama-a.gguf"; mv "$work/out" "$work/one"
cmp -s "$work/one" "$work/plain" && fail "the adapter changed nothing"
expect 0 "$tenon" logits -m "$models/llama.gguf" --ids "$ids" -n 8 --lora "$adapters/lora-llama-a.gguf=0.5" --lora "$adapters/lora-llama-a.gguf=0.5"
cmp -s "$work/out" "$work/one" || fail "twice half is not once"
expect 0 "$tenon" logits -m "$models/smollm3.gguf" --ids "$ids" -n 8; mv "$work/out" "$work/plain"
expect 0 "$tenon" logits -m "$models/smollm3.gguf" --ids "$ids" -n 8 --control-vector "$adapters/control-smollm3-c.gguf=2"
cmp -s "$work/out" "$work/plain" && fail "the control vector changed nothing"

# The same where experts are taken apart for it, and where a table is adapted that rows are looked up in.
for pair in mixtral/mixtral-a mixtral/mixtral-b gpt-oss/gpt-oss-a llama/llama-c gemma/gemma-a; do
    model=$models/${pair%/*}.gguf adapter=$adapters/lora-${pair#*/}.gguf
    expect 0 "$tenon" logits -m "$model" --ids "$ids" -n 8; mv "$work/out" "$work/plain"
    expect 0 "$tenon" logits -m "$model" --ids "$ids" -n 8 --lora "$adapter=0"
    cmp -s "$work/out" "$work/plain" || fail "$pair: scale 0 changed the result"
    expect 0 "$tenon" logits -m "$model" --ids "$ids" -n 8 --lora "$adapter"
    cmp -s "$work/out" "$work/plain" && fail "$pair: the adapter changed nothing"
done

# An importance matrix of experts sees the same inputs then, and others with the adapter at work.
model=$models/mixtral.gguf
seq -s ' the quick brown fox jumps over the lazy dog, ' 1 60 >"$work/text"
for scale in plain 0 1; do
    set --; [ $scale = plain ] || set -- --lora "$adapters/lora-mixtral-a.gguf=$scale"
    expect 0 "$tenon" imatrix -q -m "$model" -f "$work/text" -c 32 --chunks 2 -o "$work/$scale.gguf" "$@"; quiet_err
done
cmp -s "$work/plain.gguf" "$work/0.gguf" || fail "imatrix: scale 0 changed the inputs"
cmp -s "$work/plain.gguf" "$work/1.gguf" && fail "imatrix: the adapter changed no inputs"
expect 0 "$tenon" plan -m "$model" --lora "$adapters/lora-mixtral-a.gguf"; says "blk.0.ffn_experts.down.lora_b"

# What does not belong to the model is refused, with the file and what was expected.
expect 3 "$tenon" fit -m "$models/qwen2.gguf" --lora "$adapters/lora-llama-a.gguf"; says "lora-llama-a.gguf"; says "general.architecture"
expect 3 "$tenon" fit -m "$models/llama.gguf" --lora "$models/llama.gguf"; says "general.type"
expect 3 "$tenon" fit -m "$models/llama.gguf" --control-vector "$adapters/lora-llama-a.gguf"; says "controlvector"
expect 3 "$tenon" fit -m "$models/llama.gguf" --control-vector "$adapters/control-smollm3-c.gguf"; says "controlvector.model_hint"
expect 3 "$tenon" fit -m "$models/smollm3.gguf" --control-vector "$adapters/control-smollm3-c.gguf" --control-vector-layers 9-12; says "none in the asked layers"
expect 3 "$tenon" fit -m "$models/mistral-gqa.gguf" --lora "$adapters/lora-llama-a.gguf"; says "lora_"
expect 1 "$tenon" fit -m "$models/llama.gguf" --lora "$work/none.gguf"; says "none.gguf"
expect 2 "$tenon" run -m "$models/llama.gguf" -p x --control-vector-layers 1-2; errs "without --control-vector"
for scale in inf nan 1e39; do
    expect 2 "$tenon" run -m "$models/llama.gguf" -p x --lora "$adapters/lora-llama-a.gguf=$scale"; errs "finite"
done
for layers in 2 2-1 0-0 a-b 1-2x 1--2 +1-2 ' 1-2' -1; do
    expect 2 "$tenon" run -m "$models/llama.gguf" -p x --control-vector "$adapters/control-smollm3-c.gguf" --control-vector-layers "$layers"
    errs "no A-B"
done

# trace: each value once, in order; one value as numbers, the same in a file.
expect 0 "$tenon" trace -m "$models/qwen2moe.gguf" --ids "$ids"; says "blk.0.ffn_route"; says "5x64"; quiet_err
expect 0 "$tenon" trace -m "$models/phi3.gguf" --ids "$ids" --json; says '"name": "blk.0.attn_qkv_parts:2"'; says '"nan": 0'
expect 0 "$tenon" trace -m "$models/llama.gguf" --ids "$ids" --op blk.1.attn_norm
[ "$(wc -l <"$work/out")" -eq 5 ] || fail "a row a token: $(wc -l <"$work/out")"
expect 0 "$tenon" trace -m "$models/llama.gguf" --ids "$ids" --op blk.1.attn_norm -o "$work/norm.f32"
[ "$(wc -c <"$work/norm.f32")" -eq $((5 * 64 * 4)) ] || fail "5 rows of 64 floats"
expect 0 "$tenon" trace -m "$models/llama.gguf" --ids "$ids" --op blk.0.attn_q.adapted --lora "$adapters/lora-llama-a.gguf"
expect 0 "$tenon" trace -m "$models/llama.gguf" --ids "$ids" --lora "$adapters/lora-llama-a.gguf" --lora "$adapters/lora-llama-b.gguf"
says "blk.0.attn_q.adapted.2 "; says "blk.0.attn_q.lora_a.2 "
[ -z "$(cut -d' ' -f1 "$work/out" | sort | uniq -d)" ] || fail "each value has a name of its own"
expect 0 "$tenon" trace -m "$models/mixtral.gguf" --ids "$ids" --lora "$adapters/lora-mixtral-a.gguf"; says "blk.0.ffn_experts "
# An adapter of the output matrix too: embeddings do not compute with that.
expect 0 "$tenon" embed -m "$models/llama.gguf" --ids "$ids" --lora "$adapters/lora-llama-b.gguf"
expect 0 "$tenon" trace -m "$models/llama.gguf" -p "hello" ; says "output_norm"
expect 2 "$tenon" trace -m "$models/llama.gguf" --ids "$ids" --op blk.9.nothing; errs "no value has that name"
expect 2 "$tenon" trace -m "$models/qwen2moe.gguf" --ids "$ids" --op blk.0.ffn_route; errs "choice of experts"
expect 2 "$tenon" trace -m "$models/llama.gguf" --ids "$ids" -o "$work/x.npy"; errs "goes with --op"
expect 2 "$tenon" trace -m "$models/llama.gguf"; errs "--ids or -p"

# The count is that of the list.
expect 0 "$tenon" plugins list --names
says "gpt-oss"; says "$(($(wc -l <"$work/out") - 1)) architectures"
finish
