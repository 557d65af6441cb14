# tenon split and tenon merge: shards and back, byte for byte.
. "$(dirname "$0")/cli.sh"
model=$models/llama.gguf
cd "$work" || exit 1
expect 2 "$tenon" split -i "$model" -o s; errs "--max-size or --max-tensors"
expect 2 "$tenon" split -i "$model" -o s --max-size 1K --max-tensors 2; errs "either"
expect 2 "$tenon" split -o s --max-tensors 2; errs "(-i FILE)"
expect 2 "$tenon" split -i "$model" --max-tensors 2; errs "(-o)"
expect 2 "$tenon" split -i "$model" -o s --max-size 5X; errs "5X"
expect 2 "$tenon" merge -i "$model"; errs "(-o)"
expect 2 "$tenon" split -i "$model" -o "" --max-tensors 2; errs "--output: the name is empty"
expect 2 "$tenon" split -i "" -o s --max-tensors 2; errs "--input: the name is empty"
expect 2 "$tenon" merge -i "$model" -o ""; errs "--output: the name is empty"
expect 2 "$tenon" merge -i "" -o m.gguf; errs "--input: the name is empty"
expect 1 "$tenon" split -i none.gguf -o s --max-tensors 2; errs "none.gguf"

expect 0 "$tenon" split -i "$model" -o s --max-tensors 5 --json; quiet_err
count=$(ls s-00001-of-*.gguf | sed 's/.*-of-0*//; s/\.gguf//')
tensors=$("$tenon" info -m "$model" --json | sed -n 's/.*"tensors": \([0-9]*\).*/\1/p' | head -n 1)
same "shards" "$count" "$(ls s-*.gguf | wc -l)"
last=$(ls s-*.gguf | tail -n 1)
expect 0 "$tenon" fit -m "$last"; says "fits"
expect 0 "$tenon" check -m "$last"
expect 0 "$tenon" logits -m "$model" --ids "1 2 3" -o whole.npy
expect 0 "$tenon" logits -m "$last" --ids "1 2 3" -o parts.npy
expect 0 cmp whole.npy parts.npy
expect 2 "$tenon" split -i "$model" -o s --max-tensors 5; errs "is there already"
expect 0 "$tenon" split -i "$model" -o s --max-tensors 5 --force

# Put together again it is the file that it was.
expect 0 "$tenon" merge -i "$last" -o merged.gguf; says "written: merged.gguf"
expect 0 cmp merged.gguf "$model"
ln -s "$last" link.gguf
expect 2 "$tenon" merge -i "$last" -o link.gguf --force; errs "the file that is read"
expect 2 "$tenon" merge -i "$last" -o merged.gguf; errs "is there already"

# No shard is larger than asked for.
expect 0 "$tenon" split -i "$model" -o z.gguf --max-size 150K --json
python3 - "$work/out" <<'PYTHON' || fail "a shard is too large"
import json, os, sys
report = json.load(open(sys.argv[1]))
assert len(report["files"]) > 1 and report["converted"] == 0
for row in report["files"]:
    assert os.path.getsize(row["file"]) == row["bytes"], row
    assert row["bytes"] <= 150000, row
PYTHON
expect 0 "$tenon" merge -i "$(ls z-00001*)" -o merged2.gguf
expect 0 cmp merged2.gguf "$model"
# One shard is one, by its name too.
expect 0 "$tenon" split -i "$model" -o one --max-size 1G; says "one-00001-of-00001.gguf"
expect 0 "$tenon" fit -m one-00001-of-00001.gguf
# All shards are open until all are whole: as many as the hard limit allows, and no work is begun for more.
python3 - many.gguf <<'PYTHON'
import struct, sys
count = 600
head = b"GGUF" + struct.pack("<IQQ", 3, count, 0)
for i in range(count):
    name = b"blk.%d.ffn_up.weight" % i
    head += struct.pack("<Q", len(name)) + name + struct.pack("<IQQIQ", 2, 32, 1, 0, 128 * i)
open(sys.argv[1], "wb").write(head + b"\0" * (-len(head) % 32) + b"\0" * 128 * count)
PYTHON
expect 2 bash -c "ulimit -n 256; exec '$tenon' split -i many.gguf -o many --max-tensors 1"
errs "there would be 600 shards"; errs "ulimit -n: 256"
same "shards" "" "$(find . -name 'many-*')"
if [ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -gt 700 ]; then
    expect 0 bash -c "ulimit -Sn 256; exec '$tenon' split -i many.gguf -o many --max-tensors 1 -q"
    same "shards" 600 "$(find . -name 'many-*' | wc -l)"
else
    echo "SKIP: no more than $(ulimit -Hn) files may be open here"
fi
# A shard that is missing is named.
rm s-00002*
expect 3 "$tenon" merge -i "$last" -o m3.gguf; errs "s-00002"
[ ! -e m3.gguf ] || fail "something was written"
finish
