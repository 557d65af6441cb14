# tenon info and plan: what they show, as text and as JSON.
. "$(dirname "$0")/cli.sh"
m=$models/llama3-ropefreqs.gguf
expect 0 "$tenon" info -m "$m"
for word in "tenon:" "instruction sets:" "architecture:" "llama" "decoder" "layers:" "heads:" "kv heads:" "head size:" \
    "feed forward:" "context:" "rope base:" "kv bytes per token:" "tokenizer:" "gpt2" "llama-bpe" "special ids:" "bos in front:" \
    "F32" "tensors read, none unread"; do says "$word"; done
quiet_err
expect 0 "$tenon" info -m "$m" --tensors --meta; says "token_embd.weight"; says "tokenizer.ggml.pre"; says "rope_freqs.weight"
expect 0 "$tenon" info -m "$m" --json; says '"kind": "decoder"'; says '"tensor_types"'; says '"audit"'
python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$work/out" || fail "not JSON"
printf 'hello world\nzweite Zeile\n\nx' >"$work/text"
expect 0 "$tenon" info -m "$m" --tokenize "$work/text"; says "text bytes:"; says "text exact:"; says "lines exact:"
expect 1 "$tenon" info -m "$m" --tokenize "$work/no-text"; errs "no-text"
expect 0 "$tenon" plan -m "$m"; says "attend"; says "rope"; says "backend.cpu"; says "F32"
expect 0 "$tenon" plan -m "$m" --json --backend reference; says '"plugin": "backend.reference"'
python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$work/out" || fail "not JSON"
expect 0 env TENON_ISA=portable "$tenon" info -m "$m"; says "portable"
finish
