# Command lines: help, versions, unknown and wrong options, one dash and two.
. "$(dirname "$0")/cli.sh"
m=$models/llama.gguf

expect 0 "$tenon" --version; says "tenon "; quiet_err
expect 0 "$tenon" --help; says "run "; says "plugins"
expect 2 "$tenon"; errs "Usage"; quiet_out
expect 2 "$tenon" frobnicate; errs "frobnicate"; quiet_out
for c in run info fit logits plan bench plugins embed rerank; do
    expect 0 "$tenon" $c --help; says "Usage: tenon $c"; says "--plugin-dir DIR"; says "--quiet"; quiet_err
    expect 0 "$tenon" help $c; says "Usage: tenon $c"
    expect 2 "$tenon" $c --no-such-option; errs "no-such-option"; quiet_out
done
for c in run info fit logits plan bench; do
    expect 2 "$tenon" $c; errs "-m FILE"
    expect 1 "$tenon" $c -m "$work/missing.gguf" $([ $c = run ] && echo -p x) $([ $c = logits ] && echo --ids 1 -n 1)
    errs "$work/missing.gguf"; errs "No such file"
    expect 3 "$tenon" $c -m "$TENON_TEST_DATA/refused/arch-mamba.gguf" $([ $c = run ] && echo -p x) \
        $([ $c = logits ] && echo --ids 1 -n 1)
    expect 2 "$tenon" $c -m "$m" -t 0; errs "threads"
    expect 2 "$tenon" $c -m "$m" -t x; errs "threads"
    expect 2 "$tenon" $c -m "$m" -t 2x; errs "2x"
    expect 2 "$tenon" $c -m "$m" -c 99999999999999999999; errs "context"
    expect 2 "$tenon" $c -m "$m" extra; errs "extra"
    expect 2 "$tenon" $c -m; errs "-m"
done
expect 2 "$tenon" run -m "$m" -p x --temp nan; errs "temp"
expect 2 "$tenon" run -m "$m" -p x --temp -1; errs "temp"
expect 2 "$tenon" run -m "$m" -p x --top-p 1.5; errs "top-p"
expect 2 "$tenon" run -m "$m" -p x --seed -3; errs "seed"
expect 2 "$tenon" run -m "$m" -p x --seed 18446744073709551616; errs "seed"
expect 0 "$tenon" run -m "$m" -p x -n 1 --seed 18446744073709551615 -t 1
expect 2 "$tenon" run -m "$m" -p x --repeat-penalty 0; errs "repeat-penalty"
expect 2 "$tenon" run -m "$m" -p x -f "$m"; errs "exclude"
expect 2 "$tenon" bench -m "$m" -o xml; errs "md or json"
expect 2 "$tenon" logits -m "$m" --ids 1 -o "$work/x.txt"; errs ".npy"
expect 2 "$tenon" logits -m "$m" -n 3; errs "--ids"
expect 2 "$tenon" logits -m "$m" --ids 1; errs "-o"
expect 3 "$tenon" run -m "$m" -p x --backend nobody; errs "nobody"
expect 2 "$tenon" run -m "$m" -p x --kv q17_x; errs "q17_x"; errs "--kv"
expect 0 "$tenon" run -m "$m" -p x -n 1 -temp 0 -kv F32 -t 1
expect 0 "$tenon" run -m "$m" -p x -n 1 --temp 0 --kv f16 -t1
expect 1 "$tenon" fit -m "$m" --plugin-dir "$work/nowhere"; errs "$work/nowhere"
expect 3 "$tenon" fit -m "$m" --kv q8_0; says "Q8_0"; expect 3 "$tenon" plan -m "$m" --kv q8_0
expect 2 "$tenon" fit -m "$m" --plugin-dir ""; errs "empty"
expect 2 "$tenon" fit -m "$m" -c 2147483648; errs "2147483647"
expect 2 "$tenon" bench -m "$m" -p 0 -n 0; errs "nothing to measure"
expect 0 bash -c "'$tenon' run -m '$m' -n 1 -p x -t 1 <&-"
printf x >"$work/in"; expect 1 bash -c "'$tenon' run -m '$m' -n 1 -p x -t 1 >&-"
expect 2 env TENON_ISA=sse9 "$tenon" fit -m "$m"; errs "sse9"
expect 0 env TENON_ISA=portable "$tenon" fit -m "$m"
expect 0 "$tenon" --man; says ".TH TENON 1"; says "EXIT STATUS"
if command -v man >/dev/null; then
    "$tenon" --man >"$work/tenon.1"
    expect 0 env LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -E UTF-8 -l "$work/tenon.1"; quiet_err; says "TENON_ISA"
else
    echo "SKIP: man is not installed"
fi
finish
