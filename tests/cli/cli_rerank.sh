# tenon rerank: scores are those of the pairs' ids, best first; forms of input and output; what is refused.
. "$(dirname "$0")/cli.sh"
m=$models/bert-rerank.gguf
query="the keeper counted"
rerank() { expect 0 "$tenon" rerank -m "$m" "$@"; }
: >"$work/docs"
for i in $(seq 1 90); do echo "ship $i $(seq -s' ' 1 $((i % 13)))"; done >"$work/docs"

# Each score is that of the pair's ids alone.
rerank -q "$query" -f "$work/docs"; cp "$work/out" "$work/all"; quiet_err
same lines "$(wc -l <"$work/all")" 90
python3 - "$query" "$work/docs" >"$work/pairs" <<'P'
import json, sys
for line in open(sys.argv[2]):
    print(json.dumps({"text": sys.argv[1], "pair": line.rstrip("\n")}))
P
"$tenon" tokenize -m "$m" --jsonl <"$work/pairs" | sed 's/{"ids":\[//; s/\].*//' >"$work/ids"
for n in 1 2 47 90; do
    expect 0 "$tenon" embed -m "$m" --ids "$(sed -n "${n}p" "$work/ids")"
    same "score of document $n" "$(awk -F'\t' -v n=$n '$1 == n { print $2 }' "$work/all")" "$(cat "$work/out")"
    same "text of document $n" "$(awk -F'\t' -v n=$n '$1 == n { print $3 }' "$work/all")" "$(sed -n "${n}p" "$work/docs")"
done
same "best first" "$(cut -f2 "$work/all")" "$(cut -f2 "$work/all" | sort -g -r)"
same "every document once" "$(cut -f1 "$work/all" | sort -n | tr '\n' ' ')" "$(seq 1 90 | tr '\n' ' ')"

# Arguments, standard input, --top, JSON.
rerank -q "$query" --top 5 -f "$work/docs"; same top "$(cat "$work/out")" "$(head -5 "$work/all")"
cp "$work/docs" "$work/in"; rerank -q "$query" --top 1000 -t 1; same "standard input" "$(cat "$work/out")" "$(cat "$work/all")"
for i in $(seq 1 10); do cat "$work/docs"; done >"$work/many" # more than --top keeps at once; equal scores in their order
rerank -q "$query" --top 3 -f "$work/many"
same "the best of many" "$(cut -f1 "$work/out" | tr '\n' ' ')" \
    "$(head -1 "$work/all" | awk '{ print $1, $1 + 90, $1 + 180, "" }')"
rerank --query "$query" "" "ship" $'two\nlines'; same lines "$(wc -l <"$work/out")" 3; says "two lines"
rerank -q "" "ship"; same lines "$(wc -l <"$work/out")" 1
rerank -q "$query" </dev/null; quiet_out
rerank -q "$query" --json "ship" $'a "quoted"\nword' "x"; cp "$work/out" "$work/json"
rerank -q "$query" "ship" $'a "quoted"\nword' "x"
expect_python "$work/json" "$work/out" <<'P'
import json, sys
got = json.load(open(sys.argv[1]))
lines = [line.rstrip("\n").split("\t") for line in open(sys.argv[2])]
assert [x["number"] for x in got] == [int(l[0]) for l in lines], (got, lines)
assert all(abs(x["score"] - float(l[1])) < 1e-6 for x, l in zip(got, lines)), (got, lines)
assert {x["text"] for x in got} == {"ship", 'a "quoted"\nword', "x"}, got
P
rerank -q "$query" --backend reference -f "$work/docs"
same "order by the reference" "$(cut -f1 "$work/out")" "$(cut -f1 "$work/all")"

# Refused.
expect 2 "$tenon" rerank -m "$m" ship; errs "-q QUERY"
expect 3 "$tenon" rerank -m "$models/bert-mean.gguf" -q x ship; errs "cls.output.weight"
expect 3 "$tenon" rerank -m "$models/llama.gguf" -q x ship; errs "cls.output.weight"
expect 2 "$tenon" rerank -m "$m" -q x "ship" "$(seq -s' ' 1 200)"; errs "text 2"; errs "128"; quiet_out
expect 2 "$tenon" rerank -m "$m" -q x -f "$work/docs" ship; errs "exclude"
expect 2 "$tenon" rerank -m "$m" -q x --top 0 ship; errs "top"
finish
