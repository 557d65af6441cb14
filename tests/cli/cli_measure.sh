# tenon imatrix and tenon perplexity: what they write and say, against the same worked out from their files.
. "$(dirname "$0")/cli.sh"
model=$models/llama.gguf
python3 - "$work" <<'PYTHON'
import random, sys
random.seed(5)
words = "the a of model file every token reads it in small steps and then one more line is said to be whole".split()
for name, count in ("text", 700), ("other", 700), ("long", 12000):
    with open(f"{sys.argv[1]}/{name}", "w") as out:
        out.write(" ".join(random.choice(words) for _ in range(count)) + "\n")
PYTHON
text=$work/text

# ---- perplexity
expect 0 "$tenon" perplexity -m "$model" -f "$text" -c 32 --chunks 4 --kv f32 --save-logits "$work/base" --json -v
says '"chunks": 4'; says '"scored": 60'; errs "chunk 4 of 4, perplexity"; errs "$work/base will take"
cp "$work/out" "$work/first.json"
expect 0 "$tenon" perplexity -q -m "$model" -f "$text" -c 32 --chunks 4 --save-logits "$work/half" --json; quiet_err
cp "$work/out" "$work/half.json"
expect 0 "$tenon" perplexity -q -m "$model" -f "$text" --base "$work/base" --json
cp "$work/out" "$work/compared.json"
expect 0 "$tenon" perplexity -q -m "$model" -f "$text" --kv f32 --base "$work/base"
says "kl mean:              0"; says "kl largest:           0"; says "same top:             1"
cat >"$work/check.py" <<'PYTHON'
import json, math, struct, sys
work = sys.argv[1]
def base(name):
    data = open(f"{work}/{name}", "rb").read()
    assert data[:8] == b"TNLOGITS"
    version, width, context, chunks = struct.unpack_from("<4I", data, 8)
    ids = struct.unpack_from(f"<{chunks * context}i", data, 24)
    rows = chunks * (context - 1 - context // 2)
    numbers = struct.unpack_from(f"<{rows * width}f", data, 24 + 4 * len(ids))
    assert version == 1 and 24 + 4 * (len(ids) + len(numbers)) == len(data)
    follow = [ids[c * context + i + 1] for c in range(chunks) for i in range(context // 2, context - 1)]
    return ids, context, follow, [numbers[r * width:(r + 1) * width] for r in range(rows)]
def logs(row):
    most = max(row)
    total = math.log(math.fsum(math.exp(x - most) for x in row))
    return [x - most - total for x in row]
def near(what, found, wanted, tolerance=1e-9):
    assert abs(found - wanted) <= tolerance * (1 + abs(wanted)), (what, found, wanted)
def perplexity(report, follow, rows, name="perplexity"):
    losses = [-logs(row)[t] for row, t in zip(rows, follow)]
    mean = sum(losses) / len(losses)
    error = math.sqrt(sum((x - mean) ** 2 for x in losses) / len(losses) / (len(losses) - 1))
    near(name, report[name], math.exp(mean))
    near(name + "_error", report[name + "_error"], math.exp(mean) * error)
ids, context, follow, rows = base("base")
other_ids, _, _, other = base("half")
assert ids == other_ids
first, half, compared = (json.load(open(f"{work}/{name}.json")) for name in ("first", "half", "compared"))
perplexity(first, follow, rows)
perplexity(half, follow, other)
perplexity(compared, follow, other)
perplexity(compared, follow, rows, "base_perplexity")
kl = []
for a, b in zip(rows, other):
    a, b = logs(a), logs(b)
    kl.append(sum(math.exp(x) * (x - y) for x, y in zip(a, b)))
near("kl_mean", compared["kl_mean"], sum(kl) / len(kl), 1e-12)
kl.sort()
assert kl[-1] > 0
near("kl_largest", compared["kl_largest"], kl[-1], 1e-12)
at = 0.99 * (len(kl) - 1)
near("kl_99", compared["kl_99"], kl[int(at)] + (at - int(at)) * (kl[int(at) + 1] - kl[int(at)]), 1e-12)
top = [a.index(max(a)) == b.index(max(b)) for a, b in zip(rows, other)]
near("same_top", compared["same_top"], sum(top) / len(top))
open(f"{work}/ids", "w").write(" ".join(map(str, ids[context:2 * context])))
raw = open(f"{work}/base", "rb").read()[24 + 4 * len(ids):]
half_rows = len(rows) // 4 * len(rows[0]) * 4
open(f"{work}/chunk.f32", "wb").write(raw[half_rows:2 * half_rows])
PYTHON
expect 0 python3 "$work/check.py" "$work"
# The rows of a base file are those of `tenon logits`, rows 16 to 30 of the chunk's 32.
expect 0 "$tenon" logits -m "$model" --ids "$(cat "$work/ids")" -o "$work/all.f32"
tail -c +$((16 * 455 * 4 + 1)) "$work/all.f32" | head -c $((15 * 455 * 4)) >"$work/part.f32"
expect 0 cmp "$work/part.f32" "$work/chunk.f32"
# What a base file is not compared with.
expect 2 "$tenon" perplexity -m "$model" -f "$work/other" --base "$work/base"; errs "another text or tokenizer"
expect 2 "$tenon" perplexity -m "$model" -f "$text" -c 16 --base "$work/base"; errs "4 chunks of 32 tokens"
expect 2 "$tenon" perplexity -m "$model" -f "$text" --chunks 3 --base "$work/base"; errs "this run has 3 of 32"
expect 3 "$tenon" perplexity -m "$model" -f "$text" --base "$model"; errs "no base file"
expect 1 "$tenon" perplexity -m "$model" -f "$text" --base "$work/none"; errs "$work/none"
head -c 5000 "$work/base" >"$work/cut"
expect 3 "$tenon" perplexity -m "$model" -f "$text" --base "$work/cut"; errs "5000 bytes"
expect 2 "$tenon" perplexity -m "$model" -f "$text" --base "$work/base" --save-logits "$work/x"; errs "exclude each other"
expect 2 "$tenon" perplexity -m "$model" -f "$text" --save-logits "$text"; errs "the model or the text"
expect 2 "$tenon" perplexity -m "$model"; errs "which text?"
expect 2 "$tenon" perplexity -f "$text"; errs "which model?"
expect 2 "$tenon" perplexity -m "$model" -f "$text" -c 2; errs "3 tokens"
expect 2 "$tenon" perplexity -m "$model" -f "$text" -c 250 -t 1 --chunks 0; errs "--chunks"
expect 1 "$tenon" perplexity -m "$model" -f "$work/none"; errs "none"
echo short >"$work/short"
expect 2 "$tenon" perplexity -m "$model" -f "$work/short" -c 64; errs "a chunk takes 64"
expect 1 "$tenon" perplexity -q -m "$model" -f "$text" -c 32 --save-logits "$work/no/base"; errs "no/base"
expect 1 bash -c "ulimit -f 20; exec '$tenon' perplexity -q -m '$model' -f '$text' -c 32 --save-logits '$work/limit'"
errs limit

# What is there already stays: without --force, and whatever it is that is no file.
expect 2 "$tenon" perplexity -q -m "$model" -f "$text" -c 32 --chunks 1 --save-logits "$work/half"; errs "is there already"
mkfifo "$work/fifo"
expect 2 timeout 20 "$tenon" perplexity -q -m "$model" -f "$text" -c 32 --chunks 1 --save-logits "$work/fifo" --force
errs "no regular file"; [ -p "$work/fifo" ] || fail "the pipe is gone"
cp "$work/half" "$work/kept"; chmod 600 "$work/kept"; ln -s kept "$work/linked"
expect 0 "$tenon" perplexity -q -m "$model" -f "$text" -c 32 --chunks 1 --save-logits "$work/linked" --force
[ -L "$work/linked" ] || fail "the link is gone"
same "mode of a replaced file" "$(stat -c %a "$work/kept")" 600
# A loss whose perplexity no number holds is told, not left out.
"$tenon" info -m "$model" --tensors --json >"$work/info.json"
cp "$model" "$work/steep.gguf"; chmod u+w "$work/steep.gguf"
python3 - "$work/steep.gguf" "$work/info.json" <<'PYTHON'
import json, struct, sys
row = next(row for row in json.load(open(sys.argv[2]))["tensors"] if row["name"] == "output.weight")
with open(sys.argv[1], "r+b") as file:
    file.seek(row["offset"])
    numbers = struct.unpack(f"<{row['bytes'] // 4}f", file.read(row["bytes"]))
    file.seek(row["offset"])
    file.write(struct.pack(f"<{len(numbers)}f", *(x * 1e5 for x in numbers)))
PYTHON
expect 1 "$tenon" perplexity -q -m "$work/steep.gguf" -f "$text" -c 32 --chunks 1; errs "the mean loss is"; quiet_out
# A row of the base that is none is the base's fault.
python3 - "$work/base" "$work/nan" <<'PYTHON'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
data[-4 * 455 * 3:-4 * 455 * 3 + 4] = struct.pack("<f", float("nan"))
open(sys.argv[2], "wb").write(data)
PYTHON
expect 3 "$tenon" perplexity -q -m "$model" -f "$text" --base "$work/nan"; errs "$work/nan, chunk 3"; errs "of the base is not finite"

# ---- imatrix
expect 0 "$tenon" imatrix -q -m "$model" -f "$text" -c 32 --chunks 6 -o "$work/whole.gguf"; quiet_err
says "matrices:             21"; says "chunks:               6"; says "activations each:     192"; says "spread typical:"
says "worst in:             blk."; says "tenon quantize -i $model -o OUT.gguf --type TYPE --imatrix $work/whole.gguf"
expect 0 "$tenon" imatrix -q -m "$model" -f "$text" -c 32 --chunks 2 -o "$work/a.gguf"
cp "$model" "$work/victim.gguf"
expect 2 "$tenon" imatrix -q --in-file "$work/a.gguf" -o "$work/victim.gguf"; errs "is there already"
expect 2 "$tenon" imatrix -q --in-file "$work/a.gguf" -o "$work/fifo" --force; errs "no regular file"
expect 0 "$tenon" imatrix -q -m "$model" -f "$text" -c 32 --from-chunk 2 --chunks 4 -o "$work/b.gguf"
expect 0 "$tenon" imatrix -q --in-file "$work/a.gguf" --in-file "$work/b.gguf" -o "$work/merged.gguf" --json
says '"chunks": 6'; says '"activations_each": 192'; says '-i MODEL.gguf'
expect 0 "$tenon" imatrix -q -m "$model" -f "$text" -c 32 --from-chunk 2 --chunks 4 --in-file "$work/a.gguf" -o "$work/a.gguf"
cat >"$work/same.py" <<'PYTHON'
import struct, sys
def read(path):
    data = open(path, "rb").read()
    at = 24
    def text():
        nonlocal at
        size, = struct.unpack_from("<Q", data, at)
        at += 8 + size
        return data[at - size:at].decode()
    tensors, keys = struct.unpack_from("<QQ", data, 8)
    found, records = {}, []
    for _ in range(keys):
        key, (kind,) = text(), struct.unpack_from("<I", data, at)
        at += 4
        if kind == 8: found[key] = text()
        elif kind == 4: found[key], = struct.unpack_from("<I", data, at); at += 4
        else:
            _, count = struct.unpack_from("<IQ", data, at)
            at += 12
            found[key] = [text() for _ in range(count)]
    for _ in range(tensors):
        name, (dims,) = text(), struct.unpack_from("<I", data, at)
        shape = struct.unpack_from(f"<{dims}Q", data, at + 4)
        kind, offset = struct.unpack_from("<IQ", data, at + 4 + 8 * dims)
        at += 16 + 8 * dims
        assert kind == 0
        records.append((name, shape, offset))
    at = (at + 31) // 32 * 32
    return found, {n: (s, struct.unpack_from(f"<{s[0] * s[1]}f", data, at + o)) for n, s, o in records}
keys, wanted = read(sys.argv[1])
assert keys["general.type"] == "imatrix" and keys["imatrix.chunk_size"] == 32, keys
assert list(wanted) == sorted(wanted) and len(wanted) == 42
for path in sys.argv[2:]:
    other, found = read(path)
    for key in "imatrix.chunk_count", "imatrix.chunk_size", "imatrix.datasets":
        assert other[key] == keys[key], (path, key, other[key], keys[key])
    assert list(found) == list(wanted)
    for name in wanted:
        assert found[name][0] == wanted[name][0]
        for x, y in zip(found[name][1], wanted[name][1]):
            assert abs(x - y) <= 1e-5 * abs(y), (path, name, x, y)
PYTHON
expect 0 python3 "$work/same.py" "$work/whole.gguf" "$work/merged.gguf" "$work/a.gguf"
expect 0 cmp "$work/whole.gguf" "$work/a.gguf" # gone on with: not a bit differs
# A file of the older form does not tell the tokens of a chunk: what is assumed is said, unless -c says it.
python3 - "$work/old.dat" <<'PYTHON'
import struct, sys
name, data = b"blk.0.attn_q.weight", b"text"
open(sys.argv[1], "wb").write(struct.pack("<ii", 1, len(name)) + name + struct.pack("<ii", 4, 64) + struct.pack("<64f", *range(64))
                              + struct.pack("<ii", 4, len(data)) + data)
PYTHON
expect 0 "$tenon" imatrix -q --in-file "$work/old.dat" -o "$work/old.gguf"
errs "old.dat does not tell how many tokens"; errs "512 are assumed"; says "activations each:     2048"
expect 0 "$tenon" imatrix -q --in-file "$work/old.dat" -o "$work/old.gguf" --force --json
says '"chunk_size_assumed_of"'; says "old.dat"; errs "512 are assumed"
expect 0 "$tenon" imatrix -q --in-file "$work/old.dat" -o "$work/old.gguf" --force -c 100 --json
says_not "assumed"; quiet_err; says '"activations_each": 400'
# The size of a newer file beside it is a guess as well; where a text is read too, so is the usual one.
expect 0 "$tenon" imatrix -q --in-file "$work/whole.gguf" --in-file "$work/old.dat" -o "$work/old.gguf" --force
errs "old.dat does not tell"; errs "32 are assumed"
expect 0 "$tenon" imatrix -q --in-file "$work/whole.gguf" -o "$work/old.gguf" --force; quiet_err
expect 0 "$tenon" imatrix -q -m "$model" -f "$text" --chunks 1 --in-file "$work/old.dat" -o "$work/old.gguf" --force
errs "512 are assumed"
expect 0 "$tenon" imatrix -q -m "$model" -f "$text" -c 32 --chunks 1 --output-tensor -o "$work/o.gguf"
says "matrices:             22"; says "activations each:     32"
# Interrupted, and gone on with as it says.
half=$TENON_TEST_DATA/adapters/lora-llama-a.gguf=0.5
begin() { # begin OUT: a run in the background, whose first chunk is done
    "$tenon" imatrix -v -m "$model" -f "$work/long" -c 32 -t 1 --lora "$half" -o "$1" >"$work/out" 2>"$work/err" &
    child=$!
    for _ in $(seq 500); do grep -q "chunk 1 of" "$work/err" && break; sleep 0.01; done
}
begin "$work/long.gguf"; command="imatrix, then SIGTERM" # a background job of a script ignores SIGINT
kill -TERM $child; wait $child; status=$?; checks=$((checks + 1))
[ "$status" = 143 ] || fail "status $status after SIGTERM, expected 143"
errs "to go on: tenon imatrix"; says "chunks:"
rest=$(sed -n 's/.*to go on: tenon //p' "$work/err")
echo "$rest" | grep -q -- " -t 1 .*-c 32 --from-chunk" || fail "the rest lacks options: $rest"
expect 0 bash -c "'$tenon' $rest -q"
expect 0 "$tenon" imatrix -q -m "$model" -f "$work/long" -c 32 --lora "$half" -o "$work/all.gguf"
expect 0 python3 "$work/same.py" "$work/all.gguf" "$work/long.gguf"
expect 0 cmp "$work/all.gguf" "$work/long.gguf"
# What appears at -o meanwhile stays, and what was gathered is not lost either.
begin "$work/late.gguf"; command="imatrix, overtaken"
mkdir "$work/late.gguf"; wait $child; status=$?; checks=$((checks + 1))
[ "$status" = 1 ] || fail "status $status, expected 1"
errs "something has appeared at $work/late.gguf"; says "late.gguf.1"; rmdir "$work/late.gguf"
expect 0 cmp "$work/all.gguf" "$work/late.gguf.1"
# What it does not do.
expect 2 "$tenon" imatrix -m "$model" -f "$text"; errs "-o FILE"
expect 2 "$tenon" imatrix -m "$model" -o "$work/x"; errs "nothing to do"
expect 2 "$tenon" imatrix -f "$text" -o "$work/x"; errs "which model?"
expect 2 "$tenon" imatrix -m "$model" -f "$text" -o "$text"; errs "the model or the text"
expect 2 "$tenon" imatrix -m "$model" -f "$text" -c 32 --from-chunk 1000 -o "$work/x"; errs "1000 of them to leave out"
expect 3 "$tenon" imatrix --in-file "$model" -o "$work/x"; errs "imatrix"
expect 1 "$tenon" imatrix --in-file "$work/whole.gguf" -o "$work/no/x"; errs "no/x"
expect 2 "$tenon" imatrix -m "$model" -f "$text" -o "$work" --force; errs "no regular file"
expect 2 "$tenon" imatrix -q -m "$models/mistral-gqa.gguf" -f "$text" -c 32 --in-file "$work/whole.gguf" -o "$work/x"
errs "were expected"
python3 - "$model" "$work/nan.gguf" <<'PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
name = b"blk.1.ffn_down.weight"
data[-455 * 64 * 4 - 4096:-455 * 64 * 4 - 2048] = b"\xff" * 2048  # inside the layer before the output matrix
open(sys.argv[2], "wb").write(data)
PYTHON
expect 1 "$tenon" imatrix -q -m "$work/nan.gguf" -f "$text" -c 32 --output-tensor -o "$work/nan.out"; errs "not finite"
expect 1 "$tenon" perplexity -q -m "$work/nan.gguf" -f "$text" -c 32; errs "not finite"
same "files left over" "" "$(find "$work" -name '*.part*' -o -name x -o -name limit -o -name nan.out)"
finish
