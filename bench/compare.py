#!/usr/bin/env python3
"""Prompt and decode speed of tenon beside llama-bench, in turn (A B A B), with the ratio of each pair.

    bench/compare.py MODEL.gguf --peer DIR/bin/llama-bench [--ours build/bin/tenon] [-p 512] [-n 64] [-t 2] [--rounds 5]

Both sides run the same file with the same number of threads on the same machine; what is quoted is the median ratio.
"""
import argparse
import json
import os
import statistics
import subprocess


def speed(command, model, threads, prompt, gen):
    """Tokens per second of one run. A llama-bench finds its libraries beside itself."""
    words = command + ["-m", model, "-t", str(threads), "-p", str(prompt), "-n", str(gen), "-r", "1", "-o", "json"]
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(os.path.abspath(command[0])))
    out = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, check=True).stdout
    return json.loads(out[out.index(b"["):])[0]["avg_ts"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--peer", required=True)
    parser.add_argument("--ours", default="build/bin/tenon")
    parser.add_argument("-p", "--prompt", type=int, default=512)
    parser.add_argument("-n", "--gen", type=int, default=64)
    parser.add_argument("-t", "--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    print("| test | tenon | peer | ratio (median, least to most) |\n| --- | --- | --- | --- |")
    for name, prompt, gen in (("prompt", args.prompt, 0), ("decode", 0, args.gen)):
        if prompt + gen == 0:
            continue
        pairs = [(speed([args.ours, "bench"], args.model, args.threads, prompt, gen),
                  speed([args.peer], args.model, args.threads, prompt, gen)) for _ in range(args.rounds)]
        ratios = sorted(a / b for a, b in pairs)
        print(f"| {name} {prompt + gen} | {statistics.median(a for a, _ in pairs):.1f} | "
              f"{statistics.median(b for _, b in pairs):.1f} | "
              f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) |", flush=True)


main()
