#!/usr/bin/env python3
"""Changes keys of a GGUF file in a copy. Usage: patch_gguf.py IN OUT CHANGE...

CHANGE: bos=ID (tokenizer.ggml.bos_token_id), type:ID=TYPE (an entry of tokenizer.ggml.token_type), template:NAME=TEXT (a
chat template more; NAME may be empty)."""
import struct
import sys

ALIGNMENT = 32  # what is inserted keeps the place of the tensors' data a multiple of it


def behind_key(data, key):
    """The place of the type behind a key."""
    name = struct.pack("<Q", len(key)) + key.encode()
    return data.index(name) + len(name)


def add_text(data, key, text):
    head = struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", 8)
    text = text.encode()
    text += b"{#" + b" " * (-(len(head) + 8 + len(text) + 4) % ALIGNMENT) + b"#}"
    count = struct.unpack_from("<Q", data, 16)[0]
    struct.pack_into("<Q", data, 16, count + 1)
    data[24:24] = head + struct.pack("<Q", len(text)) + text


data = bytearray(open(sys.argv[1], "rb").read())
for change in sys.argv[3:]:
    what, value = change.split("=", 1)
    kind, _, name = what.partition(":")
    if kind == "bos":
        struct.pack_into("<I", data, behind_key(data, "tokenizer.ggml.bos_token_id") + 4, int(value))
    elif kind == "type":
        struct.pack_into("<i", data, behind_key(data, "tokenizer.ggml.token_type") + 16 + 4 * int(name), int(value))
    elif kind == "template":
        add_text(data, "tokenizer.chat_template" + ("." + name if name else ""), value)
    else:
        sys.exit(f"no change is called {kind}")
open(sys.argv[2], "wb").write(data)
