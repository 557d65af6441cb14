#!/usr/bin/env python3
"""Makes the seeds of the GGUF fuzzer: one small file of every kind of value and tensor, and one fault each.

    python3 make_corpus.py corpus
"""
import struct
import sys
from pathlib import Path

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
WIDTH = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def scalar(key, kind, value=1):
    return text(key) + struct.pack("<I", kind) + struct.pack("<" + WIDTH[kind], value)


def string(key, value):
    return text(key) + struct.pack("<I", STRING) + text(value)


def array(key, kind, values):
    body = b"".join(text(v) if kind == STRING else struct.pack("<" + WIDTH[kind], v) for v in values)
    return text(key) + struct.pack("<IIQ", ARRAY, kind, len(values)) + body


def tensor(name, dims, kind, offset):
    return text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}QIQ", *dims, kind, offset)


def model(keys=(), tensors=(), data=0, version=3, magic=b"GGUF", align=32):
    head = magic + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join(keys) + b"".join(tensors)
    return head + bytes(-len(head) % align + data)


every_kind = [scalar("k%d" % kind, kind) for kind in WIDTH]
arrays = [array("a%d" % kind, kind, [1, 0, 1]) for kind in WIDTH]
words = array("tokenizer.ggml.tokens", STRING, ["<s>", "", b"\xff", "ab"])
three = [tensor("t0", [8], 0, 0), tensor("t1", [3, 5], 77, 32), tensor("t2", [64, 2, 1, 1], 2, 96)]
align = scalar("general.alignment", U32, 64)
nested = text("n") + struct.pack("<IIQ", ARRAY, ARRAY, 1) + struct.pack("<IQ", U8, 0)

seeds = {
    "sound": model([string("general.architecture", "llama"), words] + every_kind + arrays, three, 168),
    "version-2": model([words], three, 168, version=2),
    "aligned": model([align], [tensor("t0", [8], 0, 0), tensor("t1", [8], 0, 64)], 96, align=64),
    "no-tensors": model([words]),
    "nothing": model(),
    "empty": b"",
    "version-1": model(version=1),
    "big-endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
    "ggml": model(magic=b"GGML"),
    "align-3": model([scalar("general.alignment", U32, 3)]),
    "twice": model([scalar("k", U8), scalar("k", U8)], [three[0], three[0]], 64),
    "bool-2": model([scalar("k", BOOL, 2)]),
    "nested": model([nested]),
    "kind-13": model([text("k") + struct.pack("<IQ", 13, 0)]),
    "long-string": model([text("k") + struct.pack("<IQ", STRING, 1 << 63)]),
    "long-array": model([text("k") + struct.pack("<IIQ", ARRAY, F64, 1 << 61)]),
    "many-strings": model([text("k") + struct.pack("<IIQ", ARRAY, STRING, 1 << 60)]),
    "dims-0": model([], [tensor("t", [8, 0], 0, 0)], 32),
    "dims-5": model([], [tensor("t", [1] * 5, 0, 0)], 32),
    "dims-wrap": model([], [tensor("t", [1 << 32, 1 << 32], 0, 0)], 32),
    "size-wrap": model([], [tensor("t", [(1 << 62) + 8], 0, 0)], 32),
    "offset-wrap": model([], [tensor("t", [8], 77, 0), tensor("u", [8], 0, (1 << 64) - 32)], 64),
    "cut-data": model([], [tensor("t", [9], 0, 0)], 32),
    "split": model([scalar("split.count", U16, 3)]),
}

folder = Path(sys.argv[1])
folder.mkdir(exist_ok=True)
for name, data in seeds.items():
    (folder / name).write_bytes(data)
