# tenon tokenize and tenon detokenize: forms of output, what is read from where, JSON lines, faults, streams.
. "$(dirname "$0")/cli.sh"
spm=$models/llama.gguf
bpe=$models/llama3-ropefreqs.gguf
input() { printf "$1" >"$work/in"; }
out() { cat "$work/out"; }
line() { sed -n "$1p" "$work/out"; }

# ---- one text, in all forms and from everywhere
expect 0 "$tenon" tokenize -m "$bpe" "Hello world"; quiet_err; cp "$work/out" "$work/hello.ids"
expect 0 "$tenon" tokenize -m "$bpe" --ids "Hello world"; same "--ids is the default" "$(out)" "$(cat "$work/hello.ids")"
input "Hello world"
expect 0 "$tenon" tokenize -m "$bpe"; same "from standard input" "$(out)" "$(cat "$work/hello.ids")"
printf "Hello world" >"$work/hello.txt"
expect 0 "$tenon" tokenize -m "$bpe" -f "$work/hello.txt" -t 2; same "from a file" "$(out)" "$(cat "$work/hello.ids")"
expect 0 "$tenon" tokenize -m "$bpe" --json "Hello world"
same "as JSON" "$(out)" "{\"ids\":[$(paste -sd, "$work/hello.ids")],\"count\":$(wc -l <"$work/hello.ids")}"
expect 0 "$tenon" tokenize -m "$bpe" --pieces "Hello world"
same "pieces, the ids" "$(awk '{print $1}' "$work/out")" "$(cat "$work/hello.ids")"
expect 0 "$tenon" tokenize -m "$spm" --pieces --no-add "a'\\
$(printf '\033\360\237\377\302\205')é"
says "' a'"; says "'\\''"; says "'\\\\'"; says "'\\n'"; says "'\\x1b'"; says "'\\xff'"
expect 0 "$tenon" tokenize -m "$spm" --json --pieces --no-add "$(printf 'a"\377')"
says '"pieces":[" a","\"",[255]],"count":3}'
expect 0 "$tenon" tokenize -m "$spm" ""; same "an empty text has BOS" "$(out)" 1
expect 0 "$tenon" tokenize -m "$spm" "" --no-add; quiet_out
expect 0 "$tenon" tokenize -m "$spm" --json --no-add ""; same "nothing as JSON" "$(out)" '{"ids":[],"count":0}'
expect 0 "$tenon" tokenize -m "$spm" --json --pieces --no-add ""; says '{"ids":[],"pieces":[],"count":0}'
expect 0 "$tenon" tokenize -m "$spm" --no-add "</s>"
checks=$((checks + 1)); [ "$(out)" != 2 ] || fail "a control token without --special"
expect 0 "$tenon" tokenize -m "$spm" --no-add --special "</s>"; same "a control token with --special" "$(out)" 2
expect 0 "$tenon" tokenize -m "$spm" --no-add -- "-m"

# ---- there and back
expect 0 "$tenon" detokenize -m "$bpe" $(sed 1d "$work/hello.ids"); same "ids as arguments" "$(out)" "Hello world"
expect 0 "$tenon" detokenize -m "$bpe" "$(sed 1d "$work/hello.ids" | paste -sd,)"; same "with commas" "$(out)" "Hello world"
expect 0 "$tenon" detokenize -m "$bpe" -f "$work/hello.ids" --skip-special; same "from a file" "$(out)" "Hello world"
cp "$work/hello.ids" "$work/in"
expect 0 "$tenon" detokenize -m "$bpe" --skip-special; same "from standard input" "$(out)" "Hello world"
expect 0 "$tenon" detokenize -m "$spm" 1,2; same "control tokens" "$(out)" "<s></s>"
expect 0 "$tenon" detokenize -m "$spm" 1,2 --skip-special; quiet_out
expect 0 "$tenon" detokenize -m "$spm"; quiet_out
head -c 150000 "$tenon" >"$work/bytes" # any bytes, where that is promised
"$tenon" info -m "$spm" | grep -q "every byte string" ||
    { iconv -c -f utf-8 -t utf-8 "$work/bytes" >"$work/sound"; mv "$work/sound" "$work/bytes"; }
"$tenon" tokenize -m "$spm" --no-add -f "$work/bytes" | "$tenon" detokenize -m "$spm" >"$work/back"
checks=$((checks + 1)); command="tokenize | detokenize"; cmp "$work/bytes" "$work/back" || fail "other bytes came back"
for _ in $(seq 200); do cat "$TENON_TEST_SOURCE"/tests/cli/cli_*.sh; done | head -c 3000000 >"$work/long"
for m in "$spm" "$bpe"; do
    "$tenon" tokenize -m "$m" --no-add -f "$work/long" -t 1 >"$work/one.ids"
    "$tenon" tokenize -m "$m" --no-add -f "$work/long" -t 3 >"$work/three.ids"
    cat "$work/long" | "$tenon" tokenize -m "$m" --no-add >"$work/piped.ids"
    checks=$((checks + 3)); command="tokenize a long text with $m"
    cmp "$work/one.ids" "$work/three.ids" || fail "ids with three threads"
    cmp "$work/one.ids" "$work/piped.ids" || fail "ids through a pipe"
    tr '\n' , <"$work/one.ids" | "$tenon" detokenize -m "$m" | cmp - "$work/long" || fail "other bytes came back"
done

# ---- memory does not grow with the text (a sanitizer's does)
if ! ldd "$tenon" | grep -q 'lib[at]san'; then
    cat >"$work/memory.py" <<'PYTHON'
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, done.returncode)
PYTHON
    for m in "$spm" "$bpe" "${TENON_TEST_SHARED:-}/tokenizer/vocabs/ggml-vocab-bert-bge.gguf"; do
        [ -e "$m" ] || continue
        for c in "tokenize -t 2" detokenize; do
            text=$work/long; [ "$c" = detokenize ] && text=$work/one.ids
            command="$c -m $m, 1 and 8 times"; checks=$((checks + 1))
            for _ in $(seq 8); do cat "$text"; done >"$work/many"
            few=$(python3 "$work/memory.py" "$tenon" $c -m "$m" -f "$text")
            many=$(python3 "$work/memory.py" "$tenon" $c -m "$m" -f "$work/many")
            [ "${few#* }${many#* }" = 00 ] && [ ${many% *} -lt $((${few% *} + 24)) ] ||
                fail "MB and status: $few, 8 times as much: $many"
        done
    done
fi

# ---- only the tokenizer matters
for file in arch-mamba arch-frobnicate type-200 tensor-missing; do
    expect 0 "$tenon" tokenize -m "$TENON_TEST_DATA/refused/$file.gguf" "Hello"; quiet_err
    expect 0 "$tenon" detokenize -m "$TENON_TEST_DATA/refused/$file.gguf" 5
done
for c in tokenize detokenize; do # what is refused is named, and the file
    expect 3 "$tenon" $c -m "$TENON_TEST_DATA/refused/tokenizer-model-bloomish.gguf" 1; errs bloomish; quiet_out
    errs "$TENON_TEST_DATA/refused/tokenizer-model-bloomish.gguf"
    expect 3 "$tenon" $c -m "$TENON_TEST_DATA/refused/tokenizer-pre-unknown.gguf" 1; errs not-a-real-pre
    errs "$TENON_TEST_DATA/refused/tokenizer-pre-unknown.gguf"
done
expect 3 "$tenon" detokenize -m "$TENON_TEST_DATA/refused/wrong-magic.gguf" 1; errs wrong-magic

# ---- wrong use
for c in tokenize detokenize; do
    expect 0 "$tenon" $c --help; says "Usage: tenon $c ["; says "--jsonl"; quiet_err
    expect 2 "$tenon" $c 1; errs "-m FILE"
    expect 1 "$tenon" $c -m "$work/missing.gguf" 1; errs "missing.gguf"
    expect 1 "$tenon" $c -m "$spm" -f "$work/missing"; errs "$work/missing: No such file"
    expect 1 "$tenon" $c -m "$spm" -f "$work"; errs "directory"
    expect 2 "$tenon" $c -m "$spm" -f "$work/long" 1; errs "exclude"
    expect 2 "$tenon" $c -m "$spm" --jsonl 1; errs "exclude"
    expect 2 "$tenon" $c -m "$spm" --no-such-option; errs "no-such-option"
    expect 1 sh -c "\"$tenon\" $c -m \"$spm\" 5 >/dev/full"; errs "standard output"
done
expect 2 "$tenon" tokenize -m "$spm" a b; errs "quote"
expect 2 "$tenon" tokenize -m "$spm" --ids --pieces a; errs "exclude"
expect 2 "$tenon" tokenize -m "$spm" --jsonl --json; errs "--jsonl"
expect 2 "$tenon" tokenize -m "$spm" -t 0 a; errs "threads"
expect 2 "$tenon" detokenize -m "$spm" 5 x7; errs 'argument 2: byte 1: "x"'
expect 2 "$tenon" detokenize -m "$spm" 5,-7; errs 'argument 1: byte 3: "-"'
expect 2 "$tenon" detokenize -m "$spm" 5 "6 99999999"; errs "argument 2: number 3, up to byte 10: id 99999999"
for ids in 300,,301 ,300 , '300 , ,301' '300, 301,,'; do # an empty field; the last comma alone has nothing behind it
    expect 2 "$tenon" detokenize -m "$spm" "$ids"; errs ": a comma without a token id before it"
    printf %s "$ids" >"$work/in"; expect 2 "$tenon" detokenize -m "$spm"; errs "standard input: byte "
done
expect 2 "$tenon" detokenize -m "$spm" 300,,301; errs "argument 1: byte 5: a comma"
expect 2 "$tenon" detokenize -m "$spm" 300, ,301; errs "argument 2: byte 1: a comma"
expect 0 "$tenon" detokenize -m "$spm" 300 301; two=$(out)
for ids in 300,301 "300 ,301" "300, 301," " 300,301 , "; do
    expect 0 "$tenon" detokenize -m "$spm" "$ids"; same "ids \"$ids\"" "$(out)" "$two"
done
expect 0 "$tenon" detokenize -m "$spm" 300, 301; same "a comma between arguments" "$(out)" "$two"
expect 2 "$tenon" detokenize -m "$spm" 99999999999999999999; errs "argument 1: byte 10: a number above 2147483647"
input '5\n6\n\0017'
expect 2 "$tenon" detokenize -m "$spm"; errs "standard input: byte 5: 0x01"
input '5 6 7.5'
expect 2 "$tenon" detokenize -m "$spm"; errs 'standard input: byte 6: "."'

# ---- JSON lines
input '{"text":"Hello world"}\n{"text":"Hello world","add":false}\r\n{"text_b64":"SGVsbG8gd29ybGQ="}\n{"text":""}\n {"text":"a\\u0000b","add":false}'
expect 0 "$tenon" tokenize -m "$bpe" --jsonl; quiet_err
all=$(paste -sd, "$work/hello.ids")
same "a text" "$(line 1)" "{\"ids\":[$all]}"; same "bytes" "$(line 3)" "{\"ids\":[$all]}"
same "without BOS" "$(line 2)" "{\"ids\":[${all#*,}]}"; same "five lines" "$(wc -l <"$work/out")" 5
line 5 | sed 's/.*/&/' >"$work/in"
expect 0 "$tenon" detokenize -m "$bpe" --jsonl; same "a NUL inside" "$(out)" '{"text":"a\u0000b"}'
input '{"text":"</s>"}\n{"text":"</s>","special":false,"add":true}\n'
expect 0 "$tenon" tokenize -m "$spm" --jsonl --special --no-add
same "--special" "$(line 1)" '{"ids":[2]}'; checks=$((checks + 1)); [ "$(line 1)" != "$(line 2)" ] || fail "special false"
bad='{"txt":"a"}
{"text":"a","text":"b"}
{"text":"a","text_b64":"YQ=="}
{}
[]
7

{"text":1}
{"text":"a","add":1}
{"text":"a","special":"yes"}
{"text_b64":"YQ="}
{"text_b64":"Y Q="}
{"text_b64":"YR=="}
{"text":"a","pair":7}
{"text":"a"} x
{"text":"a"
{"text":"\ud800"}'
printf '%s\n\377\n{"text":"b"}' "$bad" >"$work/in"
expect 2 "$tenon" tokenize -m "$bpe" --jsonl; quiet_err
same "an answer for each" "$(wc -l <"$work/out")" 19
same "errors" "$(grep -c '^{"error":"line [0-9]*: ' "$work/out")" 18
same "the last one is sound" "$(line 19 | cut -c 1-7)" '{"ids":'
says 'line 1: unknown key \"txt\"'; says "line 2: byte 18: duplicate"; says "line 11: \\\"text_b64\\\": no base64 at character 3"
input '{"ids":[1,2]}\n{"ids":[1,2],"skip_special":true}\n{"ids":[5,99999999]}\n{"ids":["5"]}\n{"ids":5}\n{}\n{"ids":[],"text":""}\n{"ids":[258]}\n{"ids":[]}\n'
expect 2 "$tenon" detokenize -m "$spm" --jsonl; quiet_err
same "ids" "$(line 1)" '{"text":"<s></s>"}'; same "skipped" "$(line 2)" '{"text":""}'
same "no UTF-8" "$(line 8)" '{"text_b64":"/w=="}'; same "no ids" "$(line 9)" '{"text":""}'
same "errors" "$(grep -c '^{"error":"line [3-7]: ' "$work/out")" 5; says 'number 2: id 99999999'
python3 -c 'print("{\"text\":\"" + "word " * 400000 + "\"}\n{\"text\":\"b\"}")' >"$work/in"
expect 0 "$tenon" tokenize -m "$spm" --jsonl; same "a line of two megabytes" "$(wc -l <"$work/out")" 2

# ---- talking through pipes: an answer to each line before the next is sent
for c in tokenize detokenize; do
    command="$c --jsonl, line by line"; : >"$work/out"; : >"$work/err"; status=0
    coproc "$tenon" $c -m "$spm" --jsonl
    for i in 1 2 3; do
        checks=$((checks + 1))
        echo "{$([ $c = tokenize ] && echo '"text":"abc"' || echo '"ids":[300]')}" >&"${COPROC[1]}"
        read -r -t 20 answer <&"${COPROC[0]}" && [ "${answer:0:2}" = '{"' ] || fail "no answer to line $i"
    done
    pid=$COPROC_PID; eval "exec ${COPROC[1]}>&-"; wait $pid; status=$?
    checks=$((checks + 1)); [ $status = 0 ] || fail "status $status at the end"
done

# ---- a reader that leaves; ^C while waiting for a text
yes "some words" | head -c 20000000 | "$tenon" tokenize -m "$spm" 2>"$work/err" | head -c 1 >"$work/out"
status=${PIPESTATUS[2]}; command="tenon tokenize | head -c 1"; checks=$((checks + 1))
[ "$status" = 1 ] || fail "status $status after a closed pipe, expected 1"
mkfifo "$work/fifo"
for c in tokenize detokenize "tokenize --jsonl"; do
    command="tenon $c, then SIGINT"
    env --default-signal=INT "$tenon" $c -m "$spm" >"$work/out" 2>"$work/err" <"$work/fifo" &
    child=$!
    exec 9>"$work/fifo"
    for _ in $(seq 100); do grep -q tokenizer.spm /proc/$child/maps 2>/dev/null && break; sleep 0.05; done
    sleep 0.2; kill -INT $child; wait $child
    status=$?; checks=$((checks + 1)); exec 9>&-
    [ "$status" = 130 ] || fail "status $status after SIGINT, expected 130"
done
finish
