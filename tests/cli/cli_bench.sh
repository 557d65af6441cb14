# tenon bench: both forms; what is measured is not judged here.
. "$(dirname "$0")/cli.sh"
m=$models/llama.gguf
expect 0 "$tenon" bench -m "$m" -p 16 -n 4 -r 2; says "pp16"; says "tg4"; says "t/s"
expect 0 "$tenon" bench -m "$m" -p 16 -n 4 -r 2 -o json -t 1
python3 - "$work/out" <<'P' || fail "the JSON lacks what llama-bench has"
import json, sys
rows = json.load(open(sys.argv[1]))
assert [(r["n_prompt"], r["n_gen"]) for r in rows] == [(16, 0), (0, 4)], rows
for r in rows:
    assert len(r["samples_ts"]) == len(r["samples_ns"]) == 2 and r["avg_ts"] > 0 and r["n_threads"] == 1
    assert {"stddev_ts", "avg_ns", "model_size", "model_n_params", "cpu_info", "test_time"} <= set(r)
P
expect 0 "$tenon" bench -m "$m" -p 16 -n 0 -r 1 -o json; says '"n_gen": 0'
expect 0 "$tenon" bench -m "$m" -p 0 -n 4 -r 1 -o json; says '"n_prompt": 0'; says_not '"n_gen": 0'
expect 2 "$tenon" bench -m "$m" -p 100000 -n 0 -c 64; errs "context"
finish
