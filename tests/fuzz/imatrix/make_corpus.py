#!/usr/bin/env python3
"""Makes the seeds of the fuzzer of importance files: sound ones of both forms, and one fault each.

    python3 make_corpus.py corpus
"""
import struct
import sys
from pathlib import Path

U32, STRING, ARRAY = 4, 8, 9
F32, F16 = 0, 1


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def string(key, value):
    return text(key) + struct.pack("<I", STRING) + text(value)


def number(key, value, kind=U32):
    return text(key) + struct.pack("<II", kind, value)


def strings(key, values, kind=STRING):
    items = b"".join(text(v) for v in values) if kind == STRING else struct.pack(f"<{len(values)}I", *values)
    return text(key) + struct.pack("<IIQ", ARRAY, kind, len(values)) + items


KIND, DATASETS = string("general.type", "imatrix"), strings("imatrix.datasets", ["a.txt", "b.txt"])
CHUNKS, SIZE = number("imatrix.chunk_count", 2), number("imatrix.chunk_size", 512)
KEYS = (KIND, DATASETS, CHUNKS, SIZE)


# One key of each kind of value and an array of each; what a container may have beside what is read.
WIDTHS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
OTHERS = [text(f"k{kind}") + struct.pack("<I" + width, kind, 1) for kind, width in WIDTHS.items()]
OTHERS += [text(f"a{kind}") + struct.pack("<IIQ2" + width, ARRAY, kind, 2, 1, 0) for kind, width in WIDTHS.items()]


def newer(tensors, keys=KEYS, version=3, align=32):
    """tensors: (name, dims, numbers[, type])"""
    records, data = b"", b""
    for name, dims, numbers, *kind in tensors:
        body = struct.pack(f"<{len(numbers)}f", *numbers)
        records += text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
        records += struct.pack("<IQ", kind[0] if kind else F32, len(data))
        data += body + bytes(-len(body) % align)
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join(keys) + records
    return head + bytes(-len(head) % align) + data


def entry(name, columns, experts, sums=None, counts=None):
    return [(name + ".counts", [1, experts], counts or [8.0] * experts),
            (name + ".in_sum2", [columns, experts], sums or [float(i) for i in range(columns * experts)])]


def older(entries, tail=None):
    """entries: (name, calls, numbers); tail: (chunks, dataset)"""
    data = struct.pack("<i", len(entries))
    for name, calls, numbers in entries:
        data += struct.pack("<i", len(name)) + name + struct.pack("<ii", calls, len(numbers))
        data += struct.pack(f"<{len(numbers)}f", *numbers)
    return data + (struct.pack("<ii", tail[0], len(tail[1])) + tail[1] if tail else b"")


NAN, INF = float("nan"), float("inf")
one, experts = entry("blk.0.a.weight", 3, 1), entry("blk.0.b.weight", 2, 3, counts=[0.0, 1.0, 9.0])
plain = (b"blk.0.a.weight", 4, [1.0, 2.0, 3.0])

seeds = {
    "newer": newer(one + experts),
    "newer-extra": newer(one + [("x.in_sum", [1], [1.0]), ("x.stats", [1], [1.0])]),
    "newer-nothing": newer([]),
    "newer-no-datasets": newer(one, (KIND, strings("imatrix.datasets", []), CHUNKS, SIZE)),
    "newer-same-dataset": newer(one, (KIND, strings("imatrix.datasets", ["a", "a", ""]), CHUNKS, SIZE)),
    "newer-datasets-of-numbers": newer(one, (KIND, strings("imatrix.datasets", [1, 2], U32), CHUNKS, SIZE)),
    "newer-model": newer(one, (string("general.type", "model"), DATASETS, CHUNKS, SIZE)),
    "newer-type-with-newline": newer(one, (string("general.type", "im\natrix"), DATASETS, CHUNKS, SIZE)),
    "newer-no-type": newer(one, (DATASETS, CHUNKS, SIZE)),
    "newer-no-chunks": newer(one, (KIND, DATASETS, SIZE)),
    "newer-chunks-of-i32": newer(one, (KIND, DATASETS, number("imatrix.chunk_count", 2, 5), SIZE)),
    "newer-no-counts": newer(one[1:]),
    "newer-no-sums": newer(one[:1]),
    "newer-other-name": newer(one + [("blk.0.a.weight", [1], [1.0])]),
    "newer-other-type": newer([(*one[0], F16), one[1]]),
    "newer-counts-of-more": newer([("x.counts", [1, 2], [1.0, 1.0]), ("x.in_sum2", [3, 1], [1.0] * 3)]),
    "newer-three-dims": newer([("x.counts", [1, 1, 1], [1.0]), ("x.in_sum2", [3, 1, 2], [1.0] * 6)]),
    "newer-nan": newer(entry("x", 2, 1, [1.0, NAN])),
    "newer-negative": newer(entry("x", 2, 1, [1.0, -1.0])),
    "newer-infinite-count": newer(entry("x", 2, 1, counts=[INF])),
    "newer-half-a-count": newer(entry("x", 2, 1, counts=[0.5])),
    "newer-large-count": newer(entry("x", 2, 1, counts=[2.0 ** 60])),
    "newer-every-kind": newer(one, (*KEYS, *OTHERS)),
    "newer-version-2": newer(one, version=2),
    "newer-version-9": newer(one, version=9),
    "newer-big-endian": newer(one, version=3 << 24),
    "newer-aligned": newer(one, (number("general.alignment", 64), *KEYS), align=64),
    "newer-align-3": newer(one, (number("general.alignment", 3), *KEYS)),
    "newer-bool-2": newer(one, (text("k") + struct.pack("<IB", 7, 2), *KEYS)),
    "newer-nested": newer(one, (text("k") + struct.pack("<IIQIQ", ARRAY, ARRAY, 1, 0, 0), *KEYS)),
    "newer-unknown-kind": newer(one, (text("k") + struct.pack("<I", 77), *KEYS)),
    "newer-key-twice": newer(one, (*KEYS, KIND)),
    "newer-no-key-name": newer(one, (text("") + struct.pack("<IB", 0, 1), *KEYS)),
    "newer-tensor-twice": newer(one + one),
    "newer-dim-0": newer([("x.counts", [1, 0], []), ("x.in_sum2", [3, 0], [])]),
    "newer-five-dims": newer([("x.counts", [1] * 5, [1.0])]),
    "newer-no-dims": newer([("x.counts", [], [1.0])]),
    "newer-huge": newer([("x.counts", [1 << 40, 1 << 40], [1.0])]),
    "newer-too-long": newer([("x.counts", [1, 1 << 40], [1.0])]),
    "newer-bad-tensor-name": newer([("x\n.counts", [1, 1], [1.0])]),
    "newer-split": newer(one, (text("split.count") + struct.pack("<IH", 2, 3), *KEYS)),
    "newer-cut": newer(one)[:-40],
    "older": older([plain, (b"b", 0, [5.0])]),
    "older-tail": older([plain], (7, b"a.txt")),
    "older-no-calls": older([(b"a", 0, [1.0])], (0, b"")),
    "older-twice": older([plain, plain]),
    "older-nan": older([(b"a", 1, [NAN])]),
    "older-negative-calls": older([(b"a", -1, [1.0])]),
    "older-no-numbers": older([(b"a", 1, [])]),
    "older-bad-name": older([(b"a\n", 1, [1.0])]),
    "older-nul-in-name": older([(b"a\0b", 1, [1.0])]),
    "older-long-name": older([(b"a" * 65, 1, [1.0])]),
    "older-more-behind": older([plain], (7, b"a.txt")) + b"more",
    "older-cut": older([plain])[:-2],
    "older-cut-tail": older([plain], (7, b"a.txt"))[:-3],
    "older-negative-chunks": older([plain], (-7, b"")),
    "older-no-entries": older([]),
    "empty": b"",
}

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, data in seeds.items():
    (folder / name).write_bytes(data)
