# tenon fit and info on every file that must be refused, and on those that must not.
. "$(dirname "$0")/cli.sh"
refused=$TENON_TEST_DATA/refused
while read -r verdict file words; do
    if [ "$verdict" = valid ]; then
        expect 0 "$tenon" fit -m "$refused/$file"; says "fits"; quiet_err
        continue
    fi
    [ "$verdict" = refuse ] || continue
    expect 3 "$tenon" fit -m "$refused/$file"; says "is refused"; quiet_err
    for word in $words; do says "$word"; done
    expect 3 "$tenon" fit -m "$refused/$file" --json; says '"fits": false'; says '"code": "'; quiet_err
    expect 3 "$tenon" info -m "$refused/$file"; errs "is refused"
    for word in $words; do errs "$word"; done
    expect 3 "$tenon" info -m "$refused/$file" --json; says '"reasons"'
done <"$refused/refused.txt"
expect 3 "$tenon" run -m "$refused/tensor-extra.gguf" -p x; errs "blk.0.mystery.weight"; quiet_out
printf 'no model at all' >"$work/text.gguf"
expect 3 "$tenon" fit -m "$work/text.gguf"; says "text.gguf"
mkdir "$work/folder.gguf"
expect 1 "$tenon" fit -m "$work/folder.gguf"; errs "folder.gguf"
mkfifo "$work/fifo.gguf"
expect 1 timeout 5 "$tenon" fit -m "$work/fifo.gguf"; errs "fifo.gguf"
finish
