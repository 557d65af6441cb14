#!/usr/bin/env python3
"""How far a program's logits are from a golden distribution: kl.py LOGITS.npy GOLDEN.npz [--limit MEAN]

LOGITS.npy: what `tenon logits -m MODEL --ids "$(cat IDS.txt)" -o LOGITS.npy` wrote, one row of float32 a position. GOLDEN.npz
keeps, for each position, the most likely ids with their log-probabilities from a float64 run and one bucket for the
rest (shared/models/make_real_golden.py). Prints mean and worst KL(golden || logits) in nats and how often the best id
is the same. Exit status 1 if the mean is above --limit, 2 if the two files do not belong together.
"""
import argparse
import sys

import numpy as np


def log_softmax(logits):
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def kl(golden, logits):
    """KL over the kept ids and the rest bucket, for each position."""
    log_q = log_softmax(logits.astype(np.float64))
    log_p = golden["top_logprob"].astype(np.float64)
    rest_p = golden["rest_logprob"].astype(np.float64)
    top_q = np.take_along_axis(log_q, golden["top_ids"].astype(np.int64), 1)
    rest_q = np.log(np.maximum(1 - np.exp(top_q).sum(axis=1), 1e-30))
    divergence = (np.exp(log_p) * (log_p - top_q)).sum(axis=1) + np.exp(rest_p) * (rest_p - rest_q)
    return divergence, log_q.argmax(axis=1) == golden["top_ids"][:, 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logits")
    parser.add_argument("golden")
    parser.add_argument("--limit", type=float, help="largest mean KL that is still good")
    arguments = parser.parse_args()
    golden, logits = np.load(arguments.golden), np.load(arguments.logits)
    if logits.ndim != 2 or logits.shape[0] != golden["top_ids"].shape[0]:
        print(f"{arguments.logits} is {logits.shape}, the golden has {golden['top_ids'].shape[0]} positions")
        return 2
    if not np.isfinite(logits).all():
        print(f"{arguments.logits} has numbers that are not finite")
        return 2
    divergence, same = kl(golden, logits)
    print(f"mean KL {divergence.mean():.3e}  worst {divergence.max():.3e}  same best id {same.mean():.4f}")
    return 1 if arguments.limit is not None and not divergence.mean() <= arguments.limit else 0


if __name__ == "__main__":
    sys.exit(main())
