#!/usr/bin/env python3
"""token_cases.py TENON SHARED WORK: the public tokenizer cases, all of a vocabulary in one go, through tenon tokenize
--jsonl and tenon detokenize --jsonl; and the streams through tenon detokenize, an id at a time."""
import base64
import glob
import json
import lzma
import os
import random
import select
import subprocess
import sys
import threading

tenon, shared, work = sys.argv[1:4]
faults = checks = 0
random.seed(7)


def differ(what, got, wanted):
    global faults
    faults += 1
    print(f"FAIL: {what}\n  got:    {got!r:.300}\n  wanted: {wanted!r:.300}")


def vocabulary(name):
    for prefix in "ggml-vocab-", "vocab-":
        path = f"{shared}/tokenizer/vocabs/{prefix}{name}.gguf"
        if os.path.exists(path):
            return path
        if os.path.exists(path + ".xz"):
            out = f"{work}/{name}.gguf"
            with lzma.open(path + ".xz") as packed, open(out, "wb") as plain:
                plain.write(packed.read())
            return out
    return None


def ask(command, path, questions):
    text = "".join(json.dumps(q) + "\n" for q in questions)
    done = subprocess.run([tenon, command, "-m", path, "--jsonl"], input=text.encode(), capture_output=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode or done.stderr or len(answers) != len(questions):
        differ(f"{command} {path}", (done.returncode, done.stderr, len(answers)), (0, b"", len(questions)))
        return [{}] * len(questions)
    return answers


def text_of(one, key="text"):
    if key in one:
        return one[key].encode()
    return base64.b64decode(one[key + "_b64"]) if key + "_b64" in one else None


def accepted(one, meta, add):
    """Every list of ids that is right."""
    wrap = lambda ids: meta["bos_prefix"] + ids + meta["eos_suffix"] if add else ids
    lists = [one["ids_special" if add else "ids"]]
    if one.get("accept_either"):
        lists += [wrap(one[k]) for k in ("llama_cpp_ids", "hf_ids") if k in one]
    return lists


def check_encoding(name, path, meta, cases):
    global checks
    questions, wanted = [], []
    for one in cases:
        for add in False, True:
            text = {k: one[k] for k in ("text", "text_b64") if k in one}
            questions.append(dict(text, special=one["parse_special"], add=add))
            wanted.append((one["name"], accepted(one, meta, add)))
    for answer, (case, lists) in zip(ask("tokenize", path, questions), wanted):
        checks += 1
        if answer.get("ids") not in lists:
            differ(f"{name} {case}", answer, lists)


def check_decoding(name, path, cases):
    global checks
    questions, wanted = [], []
    for one in cases:
        for key, skip in ("detok", False), ("detok_skip_special", True):
            if text_of(one, key) is not None:
                questions.append({"ids": one["ids"], "skip_special": skip})
                wanted.append((one["name"], text_of(one, key)))
    for answer, (case, text) in zip(ask("detokenize", path, questions), wanted):
        checks += 1
        if text_of(answer) != text:
            differ(f"{name} {case}, decoded", answer, text)


def check_pieces(name, path, cases):
    """All texts as one, through a pipe in random pieces: the ids of the whole."""
    global checks
    text = b" ".join(text_of(one) for one in cases if one["name"] != "empty")
    for special in False, True:
        question = {"text_b64": base64.b64encode(text).decode(), "special": special}
        wanted = ask("tokenize", path, [question])[0].get("ids")
        command = [tenon, "tokenize", "-m", path, "--json"] + ["--special"] * special
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        reader = threading.Thread(target=lambda: got.append(process.stdout.read()))
        at, got = 0, []
        reader.start()
        while at < len(text):
            size = random.choice((1, 2, 3, 50, 500, 5000))
            process.stdin.write(text[at : at + size])
            process.stdin.flush()
            at += size
        process.stdin.close()
        reader.join()
        checks += 1
        if process.wait() or json.loads(got[0])["ids"] != wanted:
            differ(f"{name}, {len(text)} bytes in pieces, special {special}", got[0], wanted)


def check_stream(path, one):
    """The bytes of each id come before the next id is sent."""
    global checks
    process = subprocess.Popen([tenon, "detokenize", "-m", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for number, piece in zip(one["ids"], one["pieces_b64"]):
        checks += 1
        wanted, got = base64.b64decode(piece), b""
        process.stdin.write(b"%d\n" % number)
        process.stdin.flush()
        while len(got) < len(wanted) and select.select([process.stdout], [], [], 20)[0]:
            got += os.read(process.stdout.fileno(), 65536)
        if got != wanted:
            differ(f"{one['vocab']}: {one['note']}, id {number}", got, wanted)
    process.stdin.close()
    if process.stdout.read() or process.wait():
        differ(f"{one['vocab']}: {one['note']}", "more", "nothing more")


paths = {}
for file in sorted(glob.glob(f"{shared}/tokenizer/cases/*.json")):
    name = os.path.basename(file)[:-5]
    with open(file, encoding="utf-8") as data:
        root = json.load(data)
    if name == "streaming":
        continue
    paths[name] = vocabulary(name)
    if not paths[name]:
        differ(name, None, "a vocabulary")
        continue
    every = root["cases"] + root["invalid_utf8"]
    check_encoding(name, paths[name], root["meta"], every)
    check_decoding(name, paths[name], every)
    check_pieces(name, paths[name], every)
with open(f"{shared}/tokenizer/cases/streaming.json", encoding="utf-8") as data:
    for one in json.load(data):
        check_stream(paths[one["vocab"]], one)
print(f"{len(paths)} vocabularies, {checks} checks, {faults} faults")
sys.exit(1 if faults or not checks else 0)
