"""Writes texts and the ids that Hugging Face's tokenizers give them, for token_wordpiece_peer_test.c.

    token_wordpiece_peer.py VOCABULARY.gguf OUT.jsonl

One JSON object a line. Status 77: the package is not here. The tokenizer is built from the GGUF vocabulary. Its
Unicode tables are of several ages (categories: 8); characters on which they and Python's disagree, or which
Python's do not know, are left out.
"""
import json
import random
import struct
import sys
import unicodedata

try:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
except ImportError:
    sys.exit(77)

WHITE = {9, 10, 13, 0x20, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, *range(0x2000, 0x200B)}


def read_gguf(path):
    """The metadata of a GGUF file."""
    data, at = open(path, "rb").read(), 24
    formats = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}

    def number(form):
        nonlocal at
        (value,) = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        return value

    def text():
        nonlocal at
        size = number("<Q")
        at += size
        return data[at - size : at].decode()

    def value(kind):
        if kind == 8:
            return text()
        if kind == 9:
            inner, count = number("<I"), number("<Q")
            return [value(inner) for _ in range(count)]
        return number(formats[kind])

    (count,) = struct.unpack_from("<Q", data, 16)
    return {text(): value(number("<I")) for _ in range(count)}


def agrees(c):
    """Whether both sides mean the same character: cleaning, marks, punctuation, case."""
    ch, category = chr(c), unicodedata.category(chr(c))
    if category in ("Cn", "Cs"):
        return False
    dropped = c in (0, 0xFFFD) or (category in ("Cc", "Cf", "Co") and c not in (9, 10, 13))
    cleaned = "" if dropped else " " if c in WHITE else ch
    stripped = "".join(x for x in unicodedata.normalize("NFD", ch) if unicodedata.category(x) != "Mn")
    ascii_sign = c < 128 and ch.isprintable() and not ch.isalnum() and ch != " "
    words = 2 if c in WHITE or c in (0xB, 0xC, 0x85) else 3 if ascii_sign or category[0] == "P" else 1
    return (
        CLEAN.normalize_str(f"a{ch}b") == f"a{cleaned}b"
        and STRIP.normalize_str(ch) == stripped
        and LOWER.normalize_str(ch) == ch.lower()
        and len(SPLIT.pre_tokenize_str(f"a{ch}b")) == words
    )


def normalizer(clean=False, chinese=False, strip=False, lower=False):
    return normalizers.BertNormalizer(
        clean_text=clean, handle_chinese_chars=chinese, strip_accents=strip, lowercase=lower
    )


CLEAN, STRIP, LOWER = normalizer(clean=True), normalizer(strip=True), normalizer(lower=True)
SPLIT = pre_tokenizers.BertPreTokenizer()


def build(meta):
    entries, kinds = meta["tokenizer.ggml.tokens"], meta["tokenizer.ggml.token_type"]
    vocabulary, special = {}, []
    for i, (entry, kind) in enumerate(zip(entries, kinds)):
        if kind != 1:
            special.append(entry)
            vocabulary[entry] = i
        elif entry.startswith("\u2581"):
            vocabulary[entry[1:]] = i
        else:
            vocabulary["##" + entry] = i
    model = models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100)
    tokenizer = Tokenizer(model)
    tokenizer.add_special_tokens(special)
    tokenizer.pre_tokenizer = SPLIT
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"])
    )
    return tokenizer, [e.lstrip("\u2581") for e in entries]


def random_text(rng, pool, pieces):
    """Words of the vocabulary and their like, marks, signs, ideographs, special text, words of about 100."""
    out = []
    for _ in range(rng.randrange(1, 24)):
        what = rng.randrange(12)
        if what < 4:
            out.append(rng.choice(pieces))
        elif what == 4:
            out.append(rng.choice(pieces).upper())
        elif what == 5:
            out.append(rng.choice("aeiouAEIOU\u0130\u01c4\u1e9e\uac01\uf900") + "".join(rng.choices(MARKS, k=rng.randrange(5))))
        elif what == 6:
            out.append(rng.choice(["[CLS]", "[SEP]", "[MASK]", "[UNK]", "[cls]", "[CLS", "##ing", "\u2581a", "[unused1]"]))
        elif what == 7:
            out.append(rng.choice(pool) * rng.choice([1, 2, 98, 99, 100, 101, 102]))
        else:
            out.append("".join(rng.choices(pool, k=rng.randrange(1, 6))))
        out.append(rng.choice(["", "", " ", " ", "  ", "\n", "\t", ",", ".", "\u3000", "\u0301", "\u200d", "\0"]))
    return "".join(out)


meta = read_gguf(sys.argv[1])
tokenizer, pieces = build(meta)
everything = [c for c in range(0x30000) if not 0xD800 <= c < 0xF900 and (c < 0x3400 or c % 16 == 5 or 0xA000 <= c < 0xAC00 or 0xF900 <= c < 0x20000)]
known = [chr(c) for c in everything if agrees(c)]
MARKS = [c for c in known if unicodedata.category(c)[0] == "M"]
low = [c for c in known if ord(c) < 0x3000]
with open(sys.argv[2], "w") as out:

    def write(text, pair=None, special=False):
        tokenizer.encode_special_tokens = not special
        plain = tokenizer.encode(text, pair, add_special_tokens=False)
        added = tokenizer.encode(text, pair, add_special_tokens=True)
        case = {"lowercase": lower, "strip": strip, "special": special, "text": text, "ids": plain.ids}
        case |= {"added": added.ids, "types": added.type_ids}
        out.write(json.dumps(case | ({} if pair is None else {"pair": pair})) + "\n")

    for lower, strip in ((True, True), (True, False), (False, True), (False, False)):
        tokenizer.normalizer = normalizer(True, True, strip, lower)
        rng = random.Random(f"{lower} {strip}")
        for i in range(0, len(known), 48):
            write(" ".join(f"a{c}b" for c in known[i : i + 48]))
            write("".join(known[i : i + 48]))
        for i in range(3000):
            pool = low if i % 3 else known if i % 2 else MARKS
            pair = random_text(rng, pool, pieces) if i % 5 == 0 else None
            write(random_text(rng, pool, pieces), pair, bool(i % 2))
