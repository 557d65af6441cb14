# tenon embed: golden values by every way of pooling, many texts and each alone, forms of output, what is refused.
. "$(dirname "$0")/cli.sh"
golden=$TENON_TEST_DATA/golden
compare=$TENON_TEST_BUILD/tests/compare_f32
m=$models/bert-mean.gguf
value() { sed -n "s/^$2 //p" "$golden/$1.txt"; }
ids_of() { value "$1" prompt | cut -d' ' -f2-; }
tolerance=$(value bert-mean 'tolerance float32')
embed() { expect 0 "$tenon" embed "$@"; }
gives() { # the last command wrote what the file holds
    checks=$((checks + 1))
    cmp -s "$work/out" "$1" || fail "other output than $1"
}

# Against golden values.
embed -m "$m" --ids "$(ids_of bert-mean)" --no-normalize -o "$work/mean.f32"; quiet_out; quiet_err
expect 0 "$compare" "$work/mean.f32" "$golden/bert-mean.pooled.f32" "$tolerance"
embed -m "$m" --ids "$(ids_of bert-mean)" --pool none -o "$work/none.npy"
expect 0 "$compare" "$work/none.npy" "$golden/bert-mean.f32" "$tolerance"
embed -m "$models/bert-cls.gguf" --ids "$(ids_of bert-cls | tr ' ' ,)" --no-normalize -o "$work/cls.npy" --backend reference
expect 0 "$compare" "$work/cls.npy" "$golden/bert-cls.pooled.f32" "$tolerance"
embed -m "$models/bert-rerank.gguf" --ids "$(ids_of bert-rerank)" -o "$work/rank.f32"
expect 0 "$compare" "$work/rank.f32" "$golden/bert-rerank.pooled.f32" "$tolerance"
embed -m "$models/bert-rerank.gguf" --ids "$(ids_of bert-rerank)" --pool rank -o "$work/rank2.f32"
expect 0 cmp "$work/rank.f32" "$work/rank2.f32"

# Many texts, from arguments, a file, standard input: each as it is alone. Vectors have length 1.
: >"$work/texts"
for i in $(seq 1 300); do echo "the keeper counted ship $i $(seq -s' ' 1 $((i % 23)))"; done >"$work/texts"
echo >>"$work/texts" # an empty text is a text
printf 'no end of the line' >>"$work/texts"
embed -m "$m" -f "$work/texts"; cp "$work/out" "$work/all"
same lines "$(wc -l <"$work/all")" 302
cp "$work/texts" "$work/in"; embed -m "$m" -t 1; gives "$work/all"
embed -m "$m" -f "$work/texts" -o "$work/all.f32"
for line in 1 2 150 299 300 301 302; do
    embed -m "$m" "$(sed -n "${line}p" "$work/texts")"
    same "line $line" "$(cat "$work/out")" "$(sed -n "${line}p" "$work/all")"
done
embed -m "$m" "$(sed -n 1p "$work/texts")" "$(sed -n 2p "$work/texts")"; same "two texts" "$(cat "$work/out")" "$(head -2 "$work/all")"
same lengths "$(awk '{ s = 0; for (i = 1; i <= NF; i++) s += $i * $i; print (s > 0.999999 && s < 1.000001 && NF == 64) }' "$work/all" |
    sort | uniq -c | tr -s ' ')" " 302 1"
embed -m "$m" --pool none "the keeper"; same "rows of none" "$(wc -l <"$work/out")" "$("$tenon" tokenize -m "$m" "the keeper" | wc -l)"
for pool in mean cls last; do embed -m "$m" --pool $pool --no-normalize "the keeper"; cp "$work/out" "$work/$pool"; done
embed -m "$m" --pool none "the keeper"
same cls "$(cat "$work/cls")" "$(head -1 "$work/out")"; same last "$(cat "$work/last")" "$(tail -1 "$work/out")"
expect_python "$work/all" "$work/mean" "$work/out" <<'P'
import sys
rows = [[float(x) for x in line.split()] for line in open(sys.argv[3])]
mean = [float(x) for x in open(sys.argv[2]).read().split()]
assert len(mean) == 64 and all(abs(sum(c) / len(rows) - m) < 1e-6 for c, m in zip(zip(*rows), mean)), "mean"
P

# JSON and NumPy. A text on the command line may hold anything.
embed -m "$m" --json "the keeper" "" $'two\nlines'; cp "$work/out" "$work/json"
embed -m "$m" --json --pool none "the keeper"; cat "$work/out" >>"$work/json"
embed -m "$models/bert-rerank.gguf" --json "the keeper"; cat "$work/out" >>"$work/json"
embed -m "$m" -f "$work/texts" -o "$work/all.npy"
expect 0 "$compare" "$work/all.npy" "$work/all.f32" 0
expect_python "$work/json" "$work/all" "$work/all.npy" <<'P'
import ast, json, struct, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert [x["number"] for x in lines] == [1, 2, 3, 1, 1] and lines[1]["tokens"] == 2, lines
assert len(lines[0]["embedding"]) == 64 and [len(r) for r in lines[3]["embedding"]] == [64] * lines[3]["tokens"]
assert len(lines[4]["scores"]) == 1
data = open(sys.argv[3], "rb").read()
size = 10 + struct.unpack("<H", data[8:10])[0]
assert size % 64 == 0 and data[:8] == b"\x93NUMPY\x01\x00"
assert ast.literal_eval(data[10:size].decode()) == {"descr": "<f4", "fortran_order": False, "shape": (302, 64)}
rows = struct.unpack("<%df" % (302 * 64), data[size:])
text = [float(x) for x in open(sys.argv[2]).read().split()]
assert struct.pack("<%df" % len(text), *text) == data[size:], "text does not give the numbers back"
P
embed -m "$m" -o "$work/none.npy"; expect 0 grep -q "(0, 64)" "$work/none.npy"

# Who talks through a pipe gets each answer before the next question.
coproc "$tenon" embed -m "$m"
pid=$COPROC_PID command="embed, line by line" status=0
for line in 1 2 3; do
    sed -n "${line}p" "$work/texts" >&"${COPROC[1]}"
    read -r -t 60 answer <&"${COPROC[0]}" || answer="nothing came"
    same "answer $line" "$answer" "$(sed -n "${line}p" "$work/all")"
done
eval "exec ${COPROC[1]}>&-"; wait "$pid"; status=$?; same "status at the end" "$status" 0

# Memory does not grow with the number of texts (a sanitizer's does).
if ! ldd "$tenon" | grep -q 'lib[at]san'; then
    few=$work/all.few; for _ in 1 2 3; do cat "$work/texts"; echo; done >"$few"
    for _ in $(seq 12); do cat "$few"; done >"$work/all.many"
    peak() { python3 -c 'import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, done.returncode)' "$tenon" embed -m "$m" -f "$1"; }
    command="embed, 900 texts and 12 times as many"; checks=$((checks + 1))
    a=$(peak "$few") b=$(peak "$work/all.many")
    [ "${a#* }${b#* }" = 00 ] && [ ${b% *} -lt $((${a% *} + 4)) ] || fail "MB and status: $a, then $b"
fi

# A decoder: the last token's state, as the model's output matrix reads it.
embed -m "$models/llama.gguf" "the keeper" "the" --pool last; cp "$work/out" "$work/last"
embed -m "$models/llama.gguf" "the keeper" "the"; gives "$work/last"
expect 3 "$tenon" embed -m "$models/llama.gguf" --pool rank x; errs "cls.output.weight"

# Too long.
long=$(seq -s' ' 1 200)
printf 'the keeper\n%s\nthe\n' "$long" >"$work/long"
expect 2 "$tenon" embed -m "$m" -f "$work/long"; errs "text 2"; errs "128"; errs "--truncate"
same "texts before the long one" "$(cat "$work/out")" "$("$tenon" embed -m "$m" "the keeper")"
expect 2 "$tenon" embed -m "$m" -f "$work/long" -o "$work/long.npy"; expect 1 test -e "$work/long.npy"
embed -m "$m" -f "$work/long" --truncate; same lines "$(wc -l <"$work/out")" 3; cp "$work/out" "$work/cut"
ids=$("$tenon" tokenize -m "$m" "$long" | head -127 | tr '\n' ' ')
embed -m "$m" --ids "$ids 3"; same "a text that was cut" "$(cat "$work/out")" "$(sed -n 2p "$work/cut")"
embed -m "$models/llama.gguf" --truncate -c 5 --ids "1 7 8 9 10 11 12"; cp "$work/out" "$work/cut"
embed -m "$models/llama.gguf" --ids "1 7 8 9 10"; gives "$work/cut"
expect 2 "$tenon" embed -m "$models/llama.gguf" -c 5 --ids "1 7 8 9 10 11 12"; errs "text 1"

# Refused.
expect 3 "$tenon" embed -m "$m" --pool rank x; errs "cls.output.weight"
expect 2 "$tenon" embed -m "$m" --pool middle x; errs "middle"; errs "cls"
expect 2 "$tenon" embed -m "$m" --ids 1 x; errs "--ids"
expect 2 "$tenon" embed -m "$m" --ids "1 y"; errs '"y"'
expect 2 "$tenon" embed -m "$m" --ids "1 99999"; errs "99999"
expect 2 "$tenon" embed -m "$m" -f "$work/texts" x; errs "exclude"
expect 2 "$tenon" embed -m "$m" --json -o "$work/x.npy" x; errs "exclude"
expect 2 "$tenon" embed -m "$m" -o "$work/x.txt" x; errs ".npy"
cp "$m" "$work/m.npy"; expect 2 "$tenon" embed -m "$work/m.npy" -o "$work/m.npy" x; errs "the model itself"; expect 0 cmp "$work/m.npy" "$m"
cp "$work/texts" "$work/t.f32"; expect 2 "$tenon" embed -m "$m" -f "$work/t.f32" -o "$work/t.f32"; errs "texts itself"
expect 1 "$tenon" embed -m "$m" -f "$work/nowhere"; errs "nowhere"
expect 2 "$tenon" embed x; errs "-m FILE"
expect 2 "$tenon" run -m "$m" -p x -n 1; errs "bert-mean"
same "files left over" "" "$(find "$work" -name '*.part*')"
finish
