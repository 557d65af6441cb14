#!/usr/bin/env python3
"""Texts embedded per second beside llama.cpp, in turn (A B A B), with the ratio of each pair.

    bench/embed/compare_embed.py MODEL.gguf TEXT --peer DIR [--ours build/bench/bench_embed] [-t 2] [--rounds 5] [--seconds 2]

TEXT gives the words; DIR is what build_peer.sh made. Both sides get the same texts and threads. Loading and tokenizing are not
counted; of one thread it is the processor's time. The peer runs with batches of 512 and of 2048 tokens, and the faster one counts.
"""
import argparse
import os
import random
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def build_peer(folder, out):
    """peer_embed against the peer's headers and libraries."""
    bin_folder = os.path.join(os.path.abspath(folder), "bin")
    subprocess.run(["g++", "-O2", "-std=c++17", os.path.join(HERE, "peer_embed.cpp"), "-o", out,
                    "-I" + os.path.join(folder, "src", "include"), "-I" + os.path.join(folder, "src", "ggml", "include"),
                    "-L" + bin_folder, "-lllama", "-lggml", "-lggml-base", "-Wl,-rpath," + bin_folder], check=True)


def speed(command, texts):
    return float(subprocess.run(command, input=texts, stdout=subprocess.PIPE, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--peer", required=True)
    parser.add_argument("--ours", default="build/bench/bench_embed")
    parser.add_argument("-t", "--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    args = parser.parse_args()
    words = open(args.text, encoding="utf-8").read().split()
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        peer = os.path.join(folder, "peer_embed")
        build_peer(args.peer, peer)
        print("| words | texts | tenon | peer | ratio (median, least to most) |\n| --- | --- | --- | --- | --- |")
        for length in (20, 200):
            for count in (1, 32, 256):
                starts = [random.randrange(len(words) - length) for _ in range(count)]
                texts = "".join(" ".join(words[s:s + length]) + "\n" for s in starts).encode()
                tail = [args.model, str(args.threads), str(args.seconds)]
                pairs = [(speed([args.ours] + tail, texts), max(speed([peer] + tail + [b], texts) for b in ("512", "2048")))
                         for _ in range(args.rounds)]
                ratios = sorted(a / b for a, b in pairs)
                print(f"| {length} | {count} | {max(a for a, _ in pairs):.1f} | {max(b for _, b in pairs):.1f} | "
                      f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) |", flush=True)


main()
