# tenon logits: against the golden values, in one batch and in steps, raw and as a NumPy array.
. "$(dirname "$0")/cli.sh"
golden=$TENON_TEST_DATA/golden
compare=$TENON_TEST_BUILD/tests/compare_f32
value() { sed -n "s/^$1 //p" "$golden/llama.txt"; }
ids=$(value prompt | cut -d' ' -f2-)
tolerance=$(value 'tolerance float32')
greedy=$(value greedy | cut -d' ' -f2-)
expect 0 "$tenon" logits -m "$models/llama.gguf" --ids "$ids" -n 16 -o "$work/all.f32"; same greedy "$greedy" "$(cat "$work/out")"
expect 0 "$compare" "$work/all.f32" "$golden/llama.f32" "$tolerance"
expect 0 "$tenon" logits -m "$models/llama.gguf" --ids "$(echo "$ids" | tr ' ' ,)" --step 7 -o "$work/step.npy"
expect 0 "$compare" "$work/step.npy" "$work/all.f32" 0
expect 0 "$tenon" logits -m "$models/llama.gguf" --ids "$ids" --step 1 -t 1 -o "$work/one.f32"
expect 0 cmp "$work/one.f32" "$work/all.f32"
expect 0 "$tenon" logits -m "$models/llama.gguf" --ids "$ids" --kv f16 -o "$work/half.f32"
expect 0 "$compare" "$work/half.f32" "$golden/llama.f32" "$(value 'tolerance float16')"
expect 0 "$tenon" logits -m "$models/llama.gguf" --ids "$ids" --backend reference -n 16 -o "$work/ref.f32"
same greedy "$greedy" "$(cat "$work/out")"
expect 0 "$compare" "$work/ref.f32" "$golden/llama.f32" "$tolerance"
expect 2 "$tenon" logits -m "$models/llama.gguf" --ids "1 2 x" -n 1; errs '"x"'
expect 2 "$tenon" logits -m "$models/llama.gguf" --ids "1,99999999" -n 1; errs "99999999"
expect 2 "$tenon" logits -m "$models/llama.gguf" --ids "1,-1" -n 1; errs '"-1"'
expect 2 "$tenon" logits -m "$models/llama.gguf" --ids "" -n 1; errs "empty"
expect 2 "$tenon" logits -m "$models/llama.gguf" --ids "1 2 3" -n 1 -c 2; errs "context"
expect 1 "$tenon" logits -m "$models/llama.gguf" --ids 1 -o "$work/nowhere/x.f32"; errs "nowhere"
expect 0 "$tenon" logits -m "$models/llama.gguf" -p "hello" -n 2
same "files left over" "" "$(find "$work" -name '*.part*')"
finish
