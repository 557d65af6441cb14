#!/usr/bin/env python3
"""Puts published float32 weights in the place of a BERT file's tensors: as F16 what is quantised there, else as F32.

    minilm_f16.py MODEL-Q8_0.gguf model.safetensors OUT.gguf

Metadata, names and order stay those of the file. Needs numpy.
"""
import json
import struct
import sys

import numpy as np

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of a metadata value by its type
F32, F16, ALIGNMENT = 0, 1, 32
STEMS = {
    "token_embd": "embeddings.word_embeddings", "position_embd": "embeddings.position_embeddings",
    "token_types": "embeddings.token_type_embeddings", "token_embd_norm": "embeddings.LayerNorm",
    "attn_q": "attention.self.query", "attn_k": "attention.self.key", "attn_v": "attention.self.value",
    "attn_output": "attention.output.dense", "attn_output_norm": "attention.output.LayerNorm",
    "ffn_up": "intermediate.dense", "ffn_down": "output.dense", "layer_output_norm": "output.LayerNorm",
}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, format):
        values = struct.unpack_from("<" + format, self.data, self.at)
        self.at += struct.calcsize("<" + format)
        return values[0] if len(values) == 1 else values

    def string(self):
        size = self.take("Q")
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def skip_value(self, kind):
        if kind == 8:
            self.string()
        elif kind == 9:
            element, count = self.take("IQ")
            for _ in range(count):
                self.skip_value(element)
        else:
            self.at += SIZES[kind]


def published_name(name):
    """The name of a GGUF tensor in the published weights."""
    parts = name.split(".")
    layer = "encoder.layer.%s." % parts[1] if parts[0] == "blk" else ""
    return layer + STEMS[parts[-2]] + "." + parts[-1]


def read_safetensors(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            found[name] = np.frombuffer(data[8 + size + start:8 + size + end], "<f4").reshape(entry["shape"])
    return found


def main():
    source, weights, out = sys.argv[1:]
    published = read_safetensors(weights)
    r = Reader(open(source, "rb").read())
    _, _, tensor_count, kv_count = r.take("IIQQ")
    for _ in range(kv_count):
        r.string()
        r.skip_value(r.take("I"))
    head = [r.data[:r.at]]
    body, offset = [], 0
    for _ in range(tensor_count):
        name = r.string()
        dims = [r.take("Q") for _ in range(r.take("I"))]
        kind = F32 if r.take("IQ")[0] == F32 else F16
        data = published[published_name(name)]
        assert list(data.shape) == dims[::-1], (name, data.shape, dims)
        raw = data.astype("<f2" if kind == F16 else "<f4").tobytes()
        head.append(struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I%dQIQ" % len(dims), len(dims), *dims,
                                                                             kind, offset))
        raw += bytes(-len(raw) % ALIGNMENT)
        body.append(raw)
        offset += len(raw)
    head = b"".join(head)
    with open(out, "wb") as f:
        f.write(head + bytes(-len(head) % ALIGNMENT))
        f.writelines(body)


main()
