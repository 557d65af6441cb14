# tenon run: texts in and out, statistics, reasons for stopping, ^C, closed pipes.
. "$(dirname "$0")/cli.sh"
m=$models/llama.gguf

expect 0 "$tenon" run -m "$m" -p "hello" -n 8 --temp 0 -t 1 --ignore-eos
errs "prompt: "; errs "generated: 8 tokens"; errs "stop: length"
first=$(cat "$work/out")
printf hello >"$work/in"
expect 0 "$tenon" run -m "$m" -n 8 --temp 0 -t 2 --ignore-eos; same "from standard input" "$first" "$(cat "$work/out")"
printf hello >"$work/hello.txt"
expect 0 "$tenon" run -m "$m" -f "$work/hello.txt" -n 8 --temp 0 --ignore-eos; same "from a file" "$first" "$(cat "$work/out")"
expect 1 "$tenon" run -m "$m" -f "$work/nothing.txt"; errs "nothing.txt"; quiet_out
expect 0 "$tenon" run -m "$m" -p hello -n 0; errs "stop: length"; quiet_out
expect 0 "$tenon" run -m "$m" -p hello -n 8 -q --temp 0 --ignore-eos; quiet_err; same "quiet" "$first" "$(cat "$work/out")"
expect 0 "$tenon" run -m "$m" -p "" -n 1 --temp 0     # BOS alone
expect 0 "$tenon" run -m "$m" -p hello --seed 7 -n 16 --temp 1.5 --ignore-eos; a=$(cat "$work/out")
expect 0 "$tenon" run -m "$m" -p hello --seed 7 -n 16 --temp 1.5 --ignore-eos -t 1; same "same seed" "$a" "$(cat "$work/out")"
expect 0 "$tenon" run -m "$m" -p hello --seed 8 -n 16 --temp 1.5 --ignore-eos
checks=$((checks + 1)); [ "$a" != "$(cat "$work/out")" ] || fail "another seed, the same text"
expect 0 "$tenon" run -m "$m" -p hello -c 16 --temp 0 --ignore-eos; errs "stop: context"
long=$(printf 'hello %.0s' $(seq 300))
expect 2 "$tenon" run -m "$m" -p "$long" -c 16; errs "context"; quiet_out
expect 0 "$tenon" run -m "$m" -p hello -n 4 --temp 0 --backend reference --ignore-eos

# A reader that leaves.
"$tenon" run -m "$m" -p hello -n 100000 -c 100000 --ignore-eos --temp 0 2>"$work/err" | head -c 1 >"$work/out"
status=${PIPESTATUS[0]}; command="tenon run | head -c 1"; checks=$((checks + 1))
[ "$status" = 1 ] || fail "status $status after a closed pipe, expected 1"

# ^C: statistics, then 130. A background child ignores SIGINT, so the test asks for the default again.
rm -f "$work/out" "$work/err"
command="tenon run, then SIGINT"
env --default-signal=INT "$tenon" run -m "$m" -p hello -n 100000000 -c 100000000 --ignore-eos --temp 0 \
    >"$work/out" 2>"$work/err" </dev/null &
child=$!
for _ in $(seq 100); do [ -s "$work/out" ] && break; sleep 0.05; done
kill -INT $child
wait $child
status=$?; checks=$((checks + 1))
[ "$status" = 130 ] || fail "status $status after SIGINT, expected 130"
errs "stop: interrupt"

# A model cut short while it is in use: named, status 1.
cp "$m" "$work/cut.gguf"
command="tenon run on a file that is cut short"
mkfifo "$work/fifo"
"$tenon" run -m "$work/cut.gguf" -n 4 --temp 0 >"$work/out" 2>"$work/err" <"$work/fifo" &
child=$!
exec 9>"$work/fifo"
for _ in $(seq 100); do grep -q cut.gguf /proc/$child/maps 2>/dev/null && break; sleep 0.05; done
truncate -s 4096 "$work/cut.gguf"
printf 'hello' >&9
exec 9>&-
wait $child
status=$?; checks=$((checks + 1))
[ "$status" = 1 ] || fail "status $status after the file was cut, expected 1"
errs "cut.gguf"
finish
