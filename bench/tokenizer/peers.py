#!/usr/bin/env python3
"""How fast other tokenizers are: MB/s (10^6 bytes of text), on text seen for the first time and seen again, as
bench_tokenizer counts it: chunks of 4096 characters, nothing special, nothing added.

    RAYON_NUM_THREADS=1 peers.py PEER VOCABULARY.gguf TEXT [PASSES]

PEER: hf, fastokens, gigatoken, tiktoken, kitoken (pip install tokenizers fastokens gigatoken tiktoken kitoken gguf).
The vocabulary goes to all of them as a tokenizer.json made of the GGUF file: llama-bpe, qwen2 or bert. A peer that
remembers texts or words shows that in the passes after the first; a fresh process makes a fresh first pass. Behind the
passes: all chunks at once on as many threads as RAYON_NUM_THREADS says, by the clock, where the peer has a call for it.
"""
import json, os, sys, tempfile, time

from gguf import GGUFReader

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {"llama-bpe": CONTRACTIONS + r"\p{N}{1,3}" + REST, "qwen2": CONTRACTIONS + r"\p{N}" + REST}


def read(path):
    reader = GGUFReader(path)

    def strings(key):
        field = reader.fields[key]
        return [bytes(field.parts[i]).decode("utf8") for i in field.data]

    field = reader.fields["tokenizer.ggml.token_type"]
    pre = reader.fields.get("tokenizer.ggml.pre")
    return {
        "model": strings("tokenizer.ggml.model")[0],
        "pre": bytes(pre.parts[pre.data[0]]).decode() if pre else "",
        "tokens": strings("tokenizer.ggml.tokens"),
        "types": [int(field.parts[i][0]) for i in field.data],
        "merges": strings("tokenizer.ggml.merges") if "tokenizer.ggml.merges" in reader.fields else [],
    }


def added(v):
    return [
        dict(id=i, content=t, single_word=False, lstrip=False, rstrip=False, normalized=False, special=v["types"][i] == 3)
        for i, t in enumerate(v["tokens"])
        if v["types"][i] in (3, 4)
    ]


def bpe_json(v):
    split = {"type": "Split", "pattern": {"Regex": PATTERNS[v["pre"]]}, "behavior": "Isolated", "invert": False}
    alphabet = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    vocab = {t: i for i, t in enumerate(v["tokens"])}
    model = dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix="", end_of_word_suffix="",
                 fuse_unk=False, byte_fallback=False, ignore_merges=v["pre"] == "llama-bpe", vocab=vocab,
                 merges=[m.split(" ", 1) for m in v["merges"]])
    return dict(normalizer={"type": "NFC"} if v["pre"] == "qwen2" else None,
                pre_tokenizer={"type": "Sequence", "pretokenizers": [split, alphabet]},
                decoder={"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
                model=model)


def bert_json(v):
    def text(i, t):
        return t if v["types"][i] != 1 else t[1:] if t.startswith("\u2581") else "##" + t

    vocab = {text(i, t): i for i, t in enumerate(v["tokens"])}
    return dict(normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                            "strip_accents": None, "lowercase": True},
                pre_tokenizer={"type": "BertPreTokenizer"}, decoder=None,
                model=dict(type="WordPiece", unk_token="[UNK]", continuing_subword_prefix="##",
                           max_input_chars_per_word=100, vocab=vocab))


def byte_of():
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in visible]
    return {**{chr(b): b for b in visible}, **{chr(256 + i): b for i, b in enumerate(others)}}


def open_peer(peer, v, path):
    """Two functions: a text's ids, and all chunks' on several threads (None: there is none)."""
    threads = int(os.environ.get("RAYON_NUM_THREADS", "1"))
    if peer == "hf":
        import tokenizers
        t = tokenizers.Tokenizer.from_file(path)
        return (lambda s: t.encode(s, add_special_tokens=False).ids,
                lambda all: t.encode_batch(all, add_special_tokens=False))
    if peer == "fastokens":
        import fastokens
        t = fastokens._native.Tokenizer.from_file(path)
        return t.encode, getattr(t, "encode_batch", None)
    if peer == "gigatoken":
        import gigatoken
        t = gigatoken.Tokenizer(path)
        return t.encode, getattr(t, "encode_batch", None)
    if peer == "tiktoken":
        import tiktoken
        alphabet = byte_of()
        ranks = {bytes(alphabet[c] for c in t): i for i, t in enumerate(v["tokens"]) if v["types"][i] == 1}
        t = tiktoken.Encoding("peer", pat_str=PATTERNS[v["pre"]], mergeable_ranks=ranks, special_tokens={})
        return t.encode_ordinary, lambda all: t.encode_ordinary_batch(all, num_threads=threads)
    if peer == "kitoken":
        import kitoken
        t = kitoken.Kitoken.from_tokenizers_file(path)
        return t.encode, getattr(t, "encode_all", None)
    sys.exit("peers.py: no peer " + peer)


def main():
    peer, path, text_path = sys.argv[1:4]
    passes = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    v = read(path)
    made = dict(version="1.0", truncation=None, padding=None, added_tokens=added(v), post_processor=None)
    made.update(bert_json(v) if v["model"] == "bert" else bpe_json(v))
    text = open(text_path, encoding="utf8", newline="").read()
    megabytes = len(text.encode()) / 1e6
    chunks = [text[i : i + 4096] for i in range(0, len(text), 4096)]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "tokenizer.json")
        with open(file, "w", encoding="utf8") as out:
            json.dump(made, out, ensure_ascii=False)
        encode, batch = open_peer(peer, v, file)
        encode("a")
        speeds = []
        for _ in range(passes):
            start, count = time.process_time(), 0
            for s in chunks:
                count += len(encode(s))
            speeds.append(megabytes / (time.process_time() - start))
        print(f"{peer}: {count} ids, first pass {speeds[0]:.1f} MB/s", end="")
        if passes > 1:
            print(f", best of the others {max(speeds[1:]):.1f}", end="")
        if batch:
            best = 0
            for _ in range(passes):
                start = time.monotonic()
                batch(chunks)
                best = max(best, megabytes / (time.monotonic() - start))
            print(f", all at once {best:.1f} by the clock", end="")
        print()


main()
