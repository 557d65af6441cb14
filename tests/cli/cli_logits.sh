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

# Not over the model itself; through links; nothing left behind by signals and limits; NaN is said.
cp "$models/llama.gguf" "$work/m.f32"
expect 2 "$tenon" logits -m "$work/m.f32" --ids 1 -o "$work/m.f32"; errs "the model itself"
expect 0 cmp "$work/m.f32" "$models/llama.gguf"
: >"$work/real.f32" && ln -s real.f32 "$work/link.f32"
expect 0 "$tenon" logits -m "$models/llama.gguf" --ids 1 -o "$work/link.f32"
expect 0 test -L "$work/link.f32" -a -s "$work/real.f32"
long=$(seq -s' ' 1 250)
expect 1 bash -c "ulimit -f 10; exec '$tenon' logits -m '$models/llama.gguf' --ids '$long' -o '$work/limit.f32'"
errs "limit.f32"
# What is there and no file stays; a file that is replaced keeps its mode.
mkfifo "$work/fifo.f32"; ln -s /dev/null "$work/null.npy"; mkdir "$work/folder.f32"
for there in fifo.f32 null.npy folder.f32; do
    expect 2 timeout 20 "$tenon" logits -m "$models/llama.gguf" --ids 1 -o "$work/$there"; errs "no regular file"
done
[ -p "$work/fifo.f32" ] && [ -c "$work/null.npy" ] || fail "what was no file is gone"
: >"$work/closed.npy"; chmod 600 "$work/closed.npy"
expect 0 "$tenon" logits -m "$models/llama.gguf" --ids 1 -o "$work/closed.npy"
same "mode of a replaced file" "$(stat -c %a "$work/closed.npy")" 600
ids=$(printf '7 %.0s' $(seq 6000))
"$tenon" logits -m "$models/llama.gguf" --ids "$ids" --step 1 -c 6000 -t 1 -o "$work/term.f32" >"$work/out" 2>"$work/err" &
child=$!; command="logits, then SIGTERM"
for _ in $(seq 100); do # until the unfinished file is there, with a name or without one
    ls -l "$work"/term.f32.part* /proc/$child/fd 2>/dev/null | grep -q "term.f32.part\|(deleted)" && break
    sleep 0.02
done
kill -TERM $child; wait $child; status=$?; checks=$((checks + 1))
[ "$status" = 143 ] || fail "status $status after SIGTERM, expected 143"
python3 - "$models/llama.gguf" "$work/nan.gguf" <<'P'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[-4096:] = b"\xff" * 4096  # the end of the last tensor: float NaNs
open(sys.argv[2], "wb").write(data)
P
expect 1 "$tenon" logits -m "$work/nan.gguf" --ids "1 2 3" -n 4 -o "$work/nan.f32"; errs "NaN"; errs "nan.gguf"
same "files left over" "" "$(find "$work" -name '*.part*')"
finish
