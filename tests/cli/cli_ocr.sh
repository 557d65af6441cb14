# tenon ocr: texts against those of another program, forms of frames, JSON, long lines, what is refused.
. "$(dirname "$0")/cli.sh"
lines=$TENON_TEST_DATA/ocr
m=$lines/azmx-ocr.gguf q=$lines/azmx-ocr-q8_0.gguf
ocr() { expect 0 "$tenon" ocr "$@"; }
text() { # the last command wrote just this line
    checks=$((checks + 1))
    [ "$(cat "$work/out")" = "$1" ] || fail "other output than \"$1\""
}

# Texts. What bigrams are for.
ocr -m "$m" --frames "$lines/clear.npy"; text "the keeper's book"; quiet_err
ocr -m "$q" --frames "$lines/clear.npy" --beam 8; text "the keeper's book"
ocr -m "$m" --frames "$lines/others.npy" --backend reference; text "éßﬁ字 a-b."
ocr -m "$m" --frames "$lines/rough.npy"; text "tve gwindru rosej akwnxwﬁd -tyhe s-shwhip céwpaтьssed"
for beam in 16 64 1024; do ocr -m "$m" --frames "$lines/rough.npy" --beam $beam; text "the wind rose and the ship passed"; done
ocr -m "$m" --frames "$lines/rough.npy" --beam 16 --json; cp "$work/out" "$work/json"
ocr -m "$m" --frames "$lines/clear.npy" --json; cp "$work/out" "$work/json2"
expect_python "$work/json" "$work/json2" "$lines/lines.txt" <<'P'
import json, sys
beam, path = (json.load(open(f)) for f in sys.argv[1:3])
wanted = {}
for line in open(sys.argv[3]):
    words = line.split()
    if words[0] == "line":
        name = tuple(words[1:3])
    else:
        n = 2 if words[0] == "beam" else 1
        numbers = [float(x) for x in words[n:]]
        wanted[(*name, words[0])] = numbers[0], [numbers[i:i + 4] for i in range(2, len(numbers), 4)]
for found, name, frames in ((beam, ("azmx-ocr.gguf", "rough", "beam"), 135), (path, ("azmx-ocr.gguf", "clear", "path"), 78)):
    p, characters = wanted[name]
    assert list(found) == ["text", "frames", "log_probability", "characters"] and found["frames"] == frames, found
    assert abs(found["log_probability"] - p) < 1e-3, (found["log_probability"], p)
    assert len(found["characters"]) == len(characters)
    assert "".join(c["text"] for c in found["characters"]) == found["text"]
    for c, (symbol, first, last, confidence) in zip(found["characters"], characters):
        assert (c["first"], c["last"]) == (first, last) and abs(c["confidence"] - confidence) < 1e-4, (c, confidence)
P

# Forms: raw, NumPy version 2, other ways to write the header; an empty line.
npy() { # npy FILE VERSION DICTIONARY: a header, and behind it the rows of clear.npy
    python3 -c 'import struct, sys
path, version, text = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode().decode("unicode_escape").encode("latin-1")
size = struct.pack("<H" if version == 1 else "<I", len(text))
open(path, "wb").write(b"\x93NUMPY" + bytes([version, 0]) + size + text + open(sys.argv[4], "rb").read()[128:])' "$@" "$lines/clear.npy"
}
tail -c +129 "$lines/clear.npy" >"$work/clear.f32"
ocr -m "$m" --frames "$work/clear.f32"; text "the keeper's book"
npy "$work/a.npy" 2 "{'descr': '<f4', 'fortran_order': False, 'shape': (78, 64), }      \n"; ocr -m "$m" --frames "$work/a.npy"; text "the keeper's book"
npy "$work/a.npy" 1 '{"shape":(78,64),"fortran_order":False,"descr":"<f4"}'; ocr -m "$m" --frames "$work/a.npy"; text "the keeper's book"
: >"$work/none.f32"; ocr -m "$m" --frames "$work/none.f32"; text ""
ocr -m "$m" --frames "$work/none.f32" --beam 3 --json; says '"text": ""'; says '"characters": []'

# Long: 100000 frames, in memory that does not grow with them (a sanitizer's does).
python3 - "$work" "$lines/rough.npy" <<'P'
import sys
rows = open(sys.argv[2], "rb").read()[128:]
for name, count in (("long", 100000), ("tenth", 10000)):
    data = rows * (count // 135 + 1)
    open(f"{sys.argv[1]}/{name}.f32", "wb").write(data[:count * 256])
P
expect 2 "$tenon" ocr -m "$m" --frames "$work/long.f32"; errs "long.f32"; errs "4096"; errs "-c"; quiet_out
ocr -m "$m" -c 100000 --frames "$work/long.f32"; quiet_err; same "rough text of 740 lines" "$(grep -o 'tve gwindru' "$work/out" | wc -l)" 741
if ! ldd "$tenon" | grep -q 'lib[at]san'; then
    peak() { python3 -c 'import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, done.returncode)' "$tenon" ocr -m "$m" -c 200000 --beam 16 --frames "$1"; }
    command="ocr, 10000 frames and 100000"; checks=$((checks + 1))
    a=$(peak "$work/tenth.f32") b=$(peak "$work/long.f32")
    [ "${a#* }${b#* }" = 00 ] && [ ${b% *} -lt $((${a% *} + 8)) ] || fail "MB and status: $a, then $b"
fi

# Frames that are refused, each by its name and place.
refused() { # refused WORD: the frames at $work/a.npy
    expect 2 "$tenon" ocr -m "$m" --frames "$work/a.npy"; errs "a.npy: "; errs "$1"; quiet_out
}
good="'descr': '<f4', 'fortran_order': False"
npy "$work/a.npy" 1 "{$good, 'shape': (78, 63)}"; refused "frames of 63 numbers, the model's have 64"
npy "$work/a.npy" 1 "{$good, 'shape': (79, 64)}"; refused "ends in frame 78 of 79"
npy "$work/a.npy" 1 "{$good, 'shape': (77, 64)}"; refused "behind its last frame"
npy "$work/a.npy" 1 "{$good, 'shape': (4992,)}"; refused "two numbers"
npy "$work/a.npy" 1 "{$good, 'shape': (2, 39, 64)}"; refused "two numbers"
npy "$work/a.npy" 1 "{$good, 'shape': (-1, 64)}"; refused "two numbers"
npy "$work/a.npy" 1 "{$good, 'shape': (99999999999999999999, 64)}"; refused "beyond all files"
npy "$work/a.npy" 1 "{'descr': '<f8', 'fortran_order': False, 'shape': (39, 64)}"; refused "<f4"
npy "$work/a.npy" 1 "{'descr': '>f4', 'fortran_order': False, 'shape': (78, 64)}"; refused "<f4"
npy "$work/a.npy" 1 "{'descr': '<f4', 'fortran_order': True, 'shape': (78, 64)}"; refused "ascontiguousarray"
npy "$work/a.npy" 1 "{'descr': ' <f4', 'fortran_order': False, 'shape': (78, 64)}"; refused "<f4"
npy "$work/a.npy" 1 "{$good}"; refused "descr, fortran_order and shape"
npy "$work/a.npy" 1 "{$good, 'shape': (78, 64), 'x': 1}"; refused "descr, fortran_order and shape"
npy "$work/a.npy" 3 "{$good, 'shape': (78, 64)}"; refused "version"
head -c 60 "$lines/clear.npy" >"$work/a.npy"; refused "within its header"
head -c 5 "$lines/clear.npy" >"$work/a.npy"; refused "within its header"
cp "$m" "$work/a.npy"; refused "NUMPY"
head -c 1000 "$lines/clear.npy" >"$work/a.npy"; refused "ends in frame 3 of 78"
head -c 1000 "$work/clear.f32" >"$work/a.f32"; expect 2 "$tenon" ocr -m "$m" --frames "$work/a.f32"; errs "232 bytes behind 3 frames of 64 numbers"
for number in "nan 00 00 c0 7f" "inf 00 00 80 7f" "-inf 00 00 80 ff"; do
    set -- $number
    { head -c $((4 * (64 * 70 + 5))) "$work/clear.f32"; printf "\\x$2\\x$3\\x$4\\x$5"; tail -c +$((4 * (64 * 70 + 6) + 1)) "$work/clear.f32"; } >"$work/a.f32"
    expect 2 "$tenon" ocr -m "$m" --frames "$work/a.f32"; errs "a.f32: frame 70, number 5 is $1"; quiet_out
done
cp "$work/clear.f32" "$work/frames.bin"; expect 2 "$tenon" ocr -m "$m" --frames "$work/frames.bin"; errs ".npy or .f32"
expect 1 "$tenon" ocr -m "$m" --frames "$work/nowhere.npy"; errs "nowhere.npy"
mkdir "$work/folder.f32"; expect 1 "$tenon" ocr -m "$m" --frames "$work/folder.f32"; errs "folder.f32"
expect 2 "$tenon" ocr -m "$m"; errs "--frames FILE"
expect 2 "$tenon" ocr -m "$m" --frames "$work/clear.f32" --beam 0; errs "--beam"
expect 2 "$tenon" ocr -m "$m" --frames "$work/clear.f32" --beam 1025; errs "1024"
expect 2 "$tenon" ocr -m "$m" --frames "$work/clear.f32" more; errs "more"

# Models: what info says; other commands tell what would work; models that read text; each fault by its key.
expect 0 "$tenon" info -m "$m"; says "recogniser"; says "frame width:          64"; says "alphabet:             36"; says "none unread"
expect 0 "$tenon" fit -m "$m"; says "fits"
expect 0 "$tenon" plan -m "$q"; says "frames  input"
for command in "run -p x" "chat -p x" "logits --ids 1 -n 1" "bench" "perplexity -f $work/json" "trace --ids 1"; do
    set -- $command
    name=$1; shift
    expect 2 "$tenon" "$name" -m "$m" "$@"; errs "tenon ocr"
done
expect 3 "$tenon" embed -m "$m" x; errs "tenon ocr"
expect 3 "$tenon" rerank -m "$m" -q x y; errs "tenon ocr"
expect 2 "$tenon" ocr -m "$models/llama.gguf" --frames "$work/clear.f32"; errs "llama.gguf"; errs "tenon run"
expect 3 "$tenon" ocr -m "$models/bert-mean.gguf" --frames "$work/clear.f32"
while read -r file code words; do
    if [ "$code" = ok ]; then wanted_status=0; else wanted_status=3; fi
    expect $wanted_status "$tenon" ocr -m "$lines/refused/$file" --frames "$work/none.f32"
    for word in $words; do errs "$word"; done
done <"$lines/refused/refused.txt"
finish
