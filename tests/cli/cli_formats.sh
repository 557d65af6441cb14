# tenon formats and tenon check.
. "$(dirname "$0")/cli.sh"
expect 0 "$tenon" formats; quiet_err
tr -s " " <"$work/out" >"$work/squeezed"; mv "$work/squeezed" "$work/out"
says " 2 Q4_0 32 18 4.5 yes uses importance format.q4_0 portable, avx2, avx512_vnni"
says " 0 F32 1 4 32 yes yes format.f32 portable"
expect 0 "$tenon" formats --json; says '"bits_per_weight": 6.5625'
python3 - "$work/out" "$TENON_TEST_DATA/formats/index.json" <<'PYTHON' || fail "formats --json is not what index.json says"
import json, sys
ours = {row["name"]: row for row in json.load(open(sys.argv[1]))["formats"]}
index = json.load(open(sys.argv[2]))["types"]
for name, row in ours.items():
    want = index[name]
    assert (row["id"], row["block"], row["bytes"]) == (want["id"], want["block"], want["bytes"]), (row, want["id"])
    assert row["read"] is True and "portable" in row["gemv"] and "portable" in row["unpack"], row
assert [row["id"] for row in ours.values()] == sorted(row["id"] for row in ours.values())
PYTHON
expect 0 "$tenon" check -m "$models/llama.gguf"; says "bad blocks:           0"; quiet_err
expect 2 "$tenon" check; errs "which model?"
expect 1 "$tenon" check -m "$work/none.gguf"; errs "none.gguf"
expect 3 "$tenon" check -m "$TENON_TEST_DATA/refused/kv-count-2e60.gguf"
# A number that is none: the last float of the file's last tensor, and of nothing else.
cp "$models/llama.gguf" "$work/bad.gguf"
chmod u+w "$work/bad.gguf"
python3 - "$work/bad.gguf" <<'PYTHON'
import sys
with open(sys.argv[1], "r+b") as file:
    data = file.read().rstrip(b"\0")
    file.seek((len(data) + 3) // 4 * 4 - 4)
    file.write(b"\x00\x00\xc0\x7f")
PYTHON
expect 4 "$tenon" check -m "$work/bad.gguf"; says "bad blocks:           1"; says "F32"
expect 4 "$tenon" check -m "$work/bad.gguf" --json; says '"bad_blocks": 1'
# A type that nobody reads is named, and what lies behind it is looked at all the same.
python3 - "$work/unread.gguf" <<'PYTHON'
import struct, sys
def tensor(name, kind, offset): return struct.pack("<Q", len(name)) + name + struct.pack("<IQIQ", 1, 8, kind, offset)
head = b"GGUF" + struct.pack("<IQQ", 3, 2, 0) + tensor(b"a.weight", 26, 0) + tensor(b"b.weight", 0, 32)
head += b"\0" * (-len(head) % 32)
open(sys.argv[1], "wb").write(head + b"\0" * 32 + struct.pack("<8f", 1, 2, 3, float("nan"), 5, 6, 7, 8))
PYTHON
expect 4 "$tenon" check -m "$work/unread.gguf" --json; says '"first_bad_block": 3'; says '"tensor": "a.weight"'
# Every golden block that no encoder writes, behind three that one does: a file each, by hand.
mkdir "$work/types"
"$tenon" formats --json >"$work/formats.json"
python3 - "$TENON_TEST_DATA/formats" "$work/formats.json" "$work/types" <<'PYTHON'
import json, struct, sys
data, formats, out = sys.argv[1:]
index = json.load(open(f"{data}/index.json"))["types"]
for row in json.load(open(formats))["formats"]:
    entry = index[row["name"]]
    blob = open(f"{data}/{entry['file']}", "rb").read()
    pick = lambda kind: [case for case in entry["cases"] if case["kind"] == kind]
    size = row["bytes"]
    sound = next(case for case in pick("decode") if case["name"] in ("normal", "random"))["enc"][0]
    for case in pick("invalid"):
        at, length = case["enc"]
        blocks = [blob[at + i : at + i + size] for i in range(0, length, size)]
        good = blob[sound : sound + 3 * size]
        for i, bad in enumerate(blocks):
            name = b"x.weight"
            head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", len(name)) + name
            head += struct.pack("<IQIQ", 1, 4 * row["block"], row["id"], 0)
            head += b"\0" * (-len(head) % 32)
            open(f"{out}/{row['name']}-{i}.gguf", "wb").write(head + good + bad)
PYTHON
for file in "$work"/types/*.gguf; do
    expect 4 "$tenon" check -m "$file" --json; says '"first_bad_block": 3'; says '"bad_blocks": 1'
done
finish
