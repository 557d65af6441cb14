# tenon quantize: every fixture, sound or not; what is written, reported and refused; signals and limits.
. "$(dirname "$0")/cli.sh"
m=$models/llama.gguf
field() { python3 -c 'import json, sys; value = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("."): value = value[int(key) if key.isdigit() else key]
print(value)' "$work/out" "$1"; }

# Every fixture into a type, the first into several: the dry run's sizes are those of the file, which is sound, and loads as
# before. A second run makes the same bytes.
types="F16 Q8_0 Q4_0 Q6_K"
for file in "$models"/*.gguf; do
    for type in $types; do
        expect 0 "$tenon" quantize -i "$file" --type $type --dry-run --allow-requantize --json
        planned=$(sed -n 's/.*"bytes_after": \([0-9]*\).*/\1/p' "$work/out")
        expect 0 "$tenon" quantize -i "$file" --type $type -o "$work/q.gguf" --allow-requantize --force; quiet_err
        same "size of $file as $type" "$planned" "$(wc -c <"$work/q.gguf")"
        expect 0 "$tenon" check -m "$work/q.gguf"
        before=0; "$tenon" fit -m "$file" >"$work/out" 2>&1 || before=$?
        after=0; "$tenon" fit -m "$work/q.gguf" >"$work/out" 2>&1 || after=$?
        command="fit $file as $type"; status=$after
        same "fit of $file as $type" "$before" "$after"
    done
    cp "$work/q.gguf" "$work/first.gguf"
    expect 0 "$tenon" quantize -i "$file" --type $type -o "$work/q.gguf" --allow-requantize --force -t 5
    expect 0 cmp "$work/q.gguf" "$work/first.gguf"
    expect 0 "$tenon" quantize -i "$file" --type COPY -o "$work/q.gguf" --force
    expect 0 cmp "$work/q.gguf" "$file"
    case $type in F16) types=Q8_0 ;; Q8_0) types=Q4_0 ;; Q4_0) types=Q6_K ;; *) types=F16 ;; esac
done
for file in "$TENON_TEST_DATA"/refused/*.gguf; do
    "$tenon" quantize -i "$file" --type Q8_0 -o "$work/r.gguf" --force >"$work/out" 2>"$work/err"
    status=$?; command="quantize $file"; checks=$((checks + 1))
    case $status in
    0) expect 0 "$tenon" check -m "$work/r.gguf" ;;
    1 | 3) quiet_out; errs "tenon: " ;;
    *) fail "status $status" ;;
    esac
    rm -f "$work/r.gguf"
done

# A quantised model still says nearly what it said; greedily here the same.
ids=$(sed -n 's/^prompt //p' "$TENON_TEST_DATA/golden/llama.txt" | cut -d' ' -f2-)
expect 0 "$tenon" logits -m "$m" --ids "$ids" -n 4; greedy=$(cat "$work/out")
expect 0 "$tenon" quantize -i "$m" --type BF16 -o "$work/b.gguf"
expect 0 "$tenon" logits -m "$work/b.gguf" --ids "$ids" -n 4; same greedy "$greedy" "$(cat "$work/out")"

# The report.
expect 0 "$tenon" quantize -i "$m" --type q6_k -o "$work/r.gguf"
says "23 tensors converted"; says "7 are left: one dimension"
says "are Q8_0 rather than Q6_K: their rows are not a multiple of 256"
says "bits per weight: 32.0000 before"; says "written: $work/r.gguf, $(wc -c <"$work/r.gguf") bytes"; says "seconds: "
expect 0 "$tenon" quantize -i "$m" --type Q6_K --dry-run; says "would be converted"; says_not "seconds"
expect 0 "$tenon" quantize -i "$m" --type Q6_K --dry-run -v; errs "blk.0.attn_q.weight"; says_not "blk.0.attn_q.weight"
expect 0 "$tenon" quantize -i "$m" --type Q6_K -o "$work/r.gguf" --force -v; errs "100 %"; errs "MB/s"; errs "s left"
expect 0 "$tenon" quantize -i "$m" --type Q6_K -o "$work/r.gguf" --force --json; quiet_err
same written True "$(field written)"; same fallback "Q6_K" "$(field fallbacks.0.rather_than)"
same bytes "$(wc -c <"$work/r.gguf")" "$(field files.0.bytes)"; same type F32 "$(field each.1.to)"

expect 0 "$tenon" quantize -i "$work/r.gguf" --type Q6_K --dry-run; says "all as they were"
says "are Q8_0 rather than Q6_K: their rows are not a multiple of 256"

# The list of file types needs no file.
expect 0 "$tenon" quantize --type help; says "Q4_K_M     Q4_K"; says "COPY"; says_not "IQ1_"; quiet_err
expect 0 "$tenon" quantize --type help --json; same "first file type" F32 "$(field file_types.1.name)"

# A choice without effect is told.
expect 0 "$tenon" quantize -i "$models/llama3-ropefreqs.gguf" --type Q4_0 --dry-run --output-type Q5_0 --embedding-type Q8_0
errs "the type Q5_0 for the output is of no use"

# Types for some tensors.
printf '# comment\n\n  attn_k = \n' >"$work/types"
expect 2 "$tenon" quantize -i "$m" --type Q8_0 --dry-run --tensor-type-file "$work/types"; errs "types:3: \"attn_k =\" is not REGEX=TYPE"
printf '# comment\n\n\tattn_k=Q4_1\nffn_(up|gate)=q4_0 \r\nattn_q=F32' >"$work/types"
expect 0 "$tenon" quantize -i "$m" --type Q8_0 --dry-run -v --tensor-type 'attn_q=F16' --tensor-type-file "$work/types"
errs "F32    F16              8192  blk.0.attn_q.weight"; errs "F32    Q4_1"; errs "F32    Q4_0"
errs "\"attn_q\" = F32 is of no use"
expect 2 "$tenon" quantize -i "$m" --type Q8_0 --dry-run --tensor-type 'attn_q'; errs "\"attn_q\" is not REGEX=TYPE"
expect 2 "$tenon" quantize -i "$m" --type Q8_0 --dry-run --tensor-type '=F16'; errs "is not REGEX=TYPE"
expect 2 "$tenon" quantize -i "$m" --type Q8_0 --dry-run --tensor-type 'a(=F16'; errs "no POSIX extended regular expression"
expect 1 "$tenon" quantize -i "$m" --type Q8_0 --dry-run --tensor-type-file "$work/none"; errs "none"
expect 0 "$tenon" quantize -i "$m" --type Q4_0 --dry-run --pure --output-type F16 --embedding-type BF16 --json
expect 0 "$tenon" quantize -i "$m" --type Q4_0 --dry-run --leave-output -v
expect 0 "$tenon" quantize -i "$models/llama3-ropefreqs.gguf" --type Q4_0 --dry-run --leave-output; errs "there is no output tensor"

# Command lines.
expect 2 "$tenon" quantize; errs "which file"
expect 2 "$tenon" quantize -i "$m"; errs "--type"
expect 2 "$tenon" quantize -i "$m" --type Q8_0; errs "-o FILE"
expect 2 "$tenon" quantize -i "$m" --type Q8_9 --dry-run; errs "no file type is called Q8_9; there are: COPY, F32"
grep -qF "IQ1_" "$work/err" && fail "file types that are not written are listed"
expect 1 "$tenon" quantize -i "$work/none.gguf" --type Q8_0 --dry-run; errs "none.gguf"
expect 2 "$tenon" quantize -i "$m" --type Q8_0 -o "$work/b.gguf"; errs "--force"
expect 2 "$tenon" quantize -i "$work/b.gguf" --type Q8_0 -o "$work/b.gguf" --force; errs "is the file that is read"
ln "$work/b.gguf" "$work/hard.gguf"
expect 2 "$tenon" quantize -i "$work/b.gguf" --type Q8_0 -o "$work/hard.gguf" --force; errs "is the file that is read"
expect 2 "$tenon" quantize -i "$m" --type Q8_0 -o /dev/null --force; errs "no regular file"
expect 1 "$tenon" quantize -i "$m" --type Q8_0 -o "$work/none/b.gguf" --dry-run; errs "none/b.gguf: its folder"
expect 2 "$tenon" split -i "$m" -o "$work/" --max-tensors 5; errs "the name of a folder"
expect 2 "$tenon" quantize -i "$work/r.gguf" --type F16 --dry-run; errs "r.gguf: tensor "; errs "--allow-requantize"
expect 0 "$tenon" quantize -i "$work/r.gguf" --type F16 --dry-run --allow-requantize
for size in 0 -1 1Q 1GG M 99999999999999999999 99999999999G ""; do
    expect 2 "$tenon" quantize -i "$m" --type Q8_0 --dry-run --split-max-size "$size"; errs "--split-max-size"
done
expect 2 "$tenon" quantize -i "$m" --type COPY --dry-run --pure; errs "COPY"
expect 2 "$tenon" quantize -i "$m" --type Q8_0 --dry-run --leave-output --output-type F16; errs "either --leave-output or --output-type"
for option in --input --output --type --imatrix --tensor-type-file --output-type --embedding-type; do
    expect 2 "$tenon" quantize -i "$m" --type Q8_0 -o "$work/e.gguf" $option ""; errs "$option: the name is empty"
done
# A dry run refuses what the real one would.
expect 2 "$tenon" quantize -i "$m" --type Q8_0 -o "$work/b.gguf" --dry-run; errs "--force"
expect 0 "$tenon" quantize -i "$m" --type Q8_0 -o "$work/b.gguf" --dry-run --force; says "would be written: $work/b.gguf"
expect 2 "$tenon" quantize -i "$work/b.gguf" --type Q8_0 -o "$work/hard.gguf" --force --dry-run; errs "is the file that is read"
expect 2 "$tenon" quantize -i "$m" --type Q8_0 -o /dev/null --force --dry-run; errs "no regular file"
# What else is read is not overwritten, through whatever name.
printf 'attn_q=F16\n' >"$work/rules"; ln "$work/rules" "$work/rules2"
for name in rules rules2; do
    expect 2 "$tenon" quantize -i "$m" --type Q8_0 --tensor-type-file "$work/rules" -o "$work/$name" --force; errs "the same file"
    same "$name" "attn_q=F16" "$(cat "$work/$name")"
done
# The new file has the mode of the one that it replaces.
cp "$work/b.gguf" "$work/mode.gguf"; chmod 640 "$work/mode.gguf"
expect 0 "$tenon" quantize -i "$m" --type Q8_0 -o "$work/mode.gguf" --force; same mode 640 "$(stat -c %a "$work/mode.gguf")"
expect 0 "$tenon" quantize --help; says "looks at all tensors"; says "at most 8 MB"; says "--split-max-size N[K|M|G]"

# Shards, and one file of them again.
expect 0 "$tenon" quantize -i "$m" --type COPY -o "$work/s.gguf" --split-max-size 200K; says "s-00001-of-00005.gguf"
for shard in "$work"/s-*.gguf; do [ "$(wc -c <"$shard")" -le 200000 ] || fail "$shard is larger than 200000"; done
expect 2 "$tenon" quantize -i "$m" --type COPY -o "$work/s.gguf" --split-max-size 200K; errs "s-00001-of-00005.gguf is there already"
expect 0 "$tenon" quantize -i "$work/s-00003-of-00005.gguf" --type COPY -o "$work/whole.gguf"
expect 0 cmp "$work/whole.gguf" "$m"
expect 0 "$tenon" quantize -i "$work/s-00001-of-00005.gguf" --type Q8_0 -o "$work/t.gguf" --keep-split
expect 0 "$tenon" fit -m "$work/t-00002-of-00005.gguf"

# Importance data, in both forms, from what tenon imatrix or the peer writes.
expect 1 "$tenon" quantize -i "$m" --type Q4_0 --dry-run --imatrix "$work/none.dat"; errs "none.dat"
expect 3 "$tenon" quantize -i "$m" --type Q4_0 --dry-run --imatrix "$m"; errs "key general.type is missing"
python3 - "$work/i.dat" <<'PYTHON'
import struct, sys
def entry(name, calls, values):
    return struct.pack("<i", len(name)) + name + struct.pack("<ii", calls, len(values)) + struct.pack(f"<{len(values)}f", *values)
open(sys.argv[1], "wb").write(struct.pack("<i", 1) + entry(b"blk.0.attn_q.weight", 2, [float(i) for i in range(64)]))
PYTHON
expect 0 "$tenon" quantize -i "$m" --type Q4_0 -o "$work/i.gguf" --imatrix "$work/i.dat"
says "importance: 1 entries, used for 1 tensors; none for token_embd.weight, "
expect 0 "$tenon" info -m "$work/i.gguf" --meta; says "quantize.imatrix.file"; says "$work/i.dat"

cp "$work/i.dat" "$work/i2.dat"
expect 2 "$tenon" quantize -i "$m" --type Q4_0 -o "$work/i.dat" --imatrix "$work/i.dat" --force; errs "is the importance file"
expect 0 cmp "$work/i.dat" "$work/i2.dat"

# A file that no file type is about.
python3 - "$work/sums.gguf" <<'PYTHON'
import struct, sys
name = b"blk.0.attn_q.weight.in_sum2"
head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", len(name)) + name + struct.pack("<IQQIQ", 2, 32, 2, 0, 0)
open(sys.argv[1], "wb").write(head + b"\0" * (-len(head) % 32) + b"\0" * 256)
PYTHON
expect 3 "$tenon" quantize -i "$work/sums.gguf" --type Q8_0 -o "$work/sums2.gguf"; errs "sums.gguf: the file has no tensor that file type Q8_0 is about"
expect 0 "$tenon" quantize -i "$work/sums.gguf" --type COPY -o "$work/sums2.gguf"

# A file as large as a disk allows; a larger one that signals end. What was there stays, nothing else is left.
printf old >"$work/old.gguf"
expect 1 bash -c "ulimit -f 20; exec '$tenon' quantize -i '$m' --type Q8_0 -o '$work/old.gguf' --force"; errs "old.gguf"
python3 - "$work/large.gguf" <<'PYTHON'
import random, struct, sys
rows, columns = 8192, 4096
name = b"blk.0.attn_q.weight"
head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", len(name)) + name + struct.pack("<IQQIQ", 2, columns, rows, 1, 0)
random.seed(1)
row = b"".join(struct.pack("<e", random.uniform(-1, 1)) for _ in range(columns))
with open(sys.argv[1], "wb") as file:
    file.write(head + b"\0" * (-len(head) % 32))
    for _ in range(rows):
        file.write(row)
PYTHON
for signal in TERM KILL; do
    "$tenon" quantize -i "$work/large.gguf" --type Q6_K -o "$work/old.gguf" --force -t 1 >"$work/out" 2>"$work/err" &
    child=$!; command="quantize, then SIG$signal"
    sleep 0.3; kill -$signal $child; wait $child 2>/dev/null; status=$?; checks=$((checks + 1))
    [ "$status" -gt 128 ] || fail "status $status after SIG$signal"
    same "the old file" old "$(cat "$work/old.gguf")"
done
same "files left over" "" "$(find "$work" -name '*.part*')"

# Where the peer is built (TENON_TEST_PEER: the folder with llama-quantize and llama-bench) it loads what is written,
# and gives every tensor the same type.
if [ -x "${TENON_TEST_PEER:-/none}/llama-quantize" ]; then
    for type in Q8_0 Q4_0 Q6_K; do
        expect 0 "$tenon" quantize -i "$m" --type $type -o "$work/p.gguf" --force
        expect 0 env LD_LIBRARY_PATH="$TENON_TEST_PEER" "$TENON_TEST_PEER/llama-bench" -m "$work/p.gguf" -p 8 -n 1 -r 1
        expect 0 env LD_LIBRARY_PATH="$TENON_TEST_PEER" "$TENON_TEST_PEER/llama-quantize" "$m" "$work/peer.gguf" $type 1
        "$tenon" info -m "$work/p.gguf" --tensors --json >"$work/ours.json"
        "$tenon" info -m "$work/peer.gguf" --tensors --json >"$work/theirs.json"
        expect 0 python3 -c 'import json, sys
ours, theirs = ({t["name"]: t["type"] for t in json.load(open(f))["tensors"]} for f in sys.argv[1:])
assert ours == theirs and ours' "$work/ours.json" "$work/theirs.json"
    done
else
    echo "SKIP: TENON_TEST_PEER names no folder with llama-quantize"
fi
finish
