#!/usr/bin/env python3
"""Size and quality of every tensor type: quantises a float model to each, runs both, prints what it cost.

    bench/quality.py MODEL_F16.gguf TEXT [--imatrix FILE] [--types Q4_K_M,IQ2_XS] [--chunks 8] [--tenon bin/tenon]
                     [--peer DIR] [--baseline baseline.json --model-name NAME] [-o OUT.json]

For each type, without importance and (with --imatrix) with it: bytes of the file, perplexity, mean and 99 % Kullback-Leibler
divergence from the float model, and how often the likeliest token is the same. With --peer DIR, where llama-quantize lies, the
peer's file of the same type is made and judged by the same program, so that only the quantisers differ. With --baseline the
peer's own figures are set beside them, by its curve: the lower envelope of its (bytes, divergence) points with importance,
joined by straight lines in the logarithm of the divergence. Results are kept in OUT.json and not measured twice.
"""
import argparse, json, math, os, subprocess, sys, tempfile, time

TYPES = ("Q8_0,Q6_K,Q5_K_M,Q5_K_S,Q5_1,Q5_0,Q4_K_M,Q4_K_S,Q4_1,Q4_0,IQ4_NL,IQ4_XS,Q3_K_L,Q3_K_M,Q3_K_S,IQ3_M,IQ3_S,IQ3_XXS,"
         "Q2_K,Q2_K_S,IQ2_M,IQ2_S,IQ2_XS,IQ2_XXS,MXFP4,NVFP4,Q2_0,TQ2_0,TQ1_0,Q1_0")
# Types that no mix of that name exists for: every matrix of a layer is given the type, the rest as in the mix named.
FORCED = {"MXFP4": ("MXFP4_MOE", "blk=MXFP4"), "NVFP4": ("MXFP4_MOE", "blk=NVFP4")}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--imatrix")
    parser.add_argument("--types", default=TYPES)
    parser.add_argument("--chunks", type=int, default=8)
    parser.add_argument("--tenon", default="tenon")
    parser.add_argument("--peer")
    parser.add_argument("--baseline")
    parser.add_argument("--model-name")
    parser.add_argument("-o", "--out")
    return parser.parse_args()


def quantize(args, engine, kind, imatrix, out):
    """The seconds it took, or None where the quantiser refuses."""
    name, force = FORCED.get(kind, (kind, None))
    if engine == "tenon":
        command = [args.tenon, "quantize", "-q", "-i", args.model, "-o", out, "--type", name, "--force"]
        command += ["--tensor-type", force] if force else []
        command += ["--imatrix", imatrix] if imatrix else []
    else:
        command = [os.path.join(args.peer, "llama-quantize")]
        command += ["--tensor-type", force.lower()] if force else []
        command += ["--imatrix", imatrix] if imatrix else []
        command += [args.model, out, name, str(os.cpu_count())]
    start = time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"  {engine} {kind}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return time.time() - start


def judge(args, model, base, save=False):
    command = [args.tenon, "perplexity", "-q", "-m", model, "-f", args.text, "--chunks", str(args.chunks), "--json"]
    command += ["--save-logits" if save else "--base", base]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def envelope(points):
    """The lower envelope of (bytes, divergence): points that no smaller file beats."""
    best = []
    for size, kld in sorted(points):
        if not best or kld < best[-1][1]:
            best.append((size, kld))
    return best


def on_curve(curve, size):
    """The curve's divergence at a size, by straight lines in its logarithm; None outside of it."""
    for (x0, y0), (x1, y1) in zip(curve, curve[1:]):
        if x0 <= size <= x1:
            return math.exp(math.log(y0) + (size - x0) / (x1 - x0) * (math.log(y1) - math.log(y0)))
    return None


def peer_curve(args):
    if not args.baseline:
        return []
    results = json.load(open(args.baseline))["models"][args.model_name]["results"]
    return envelope((r["file_bytes"], r["kld"]) for r in results.values() if r.get("kld", 0) > 0)


def main():
    args = arguments()
    results = json.load(open(args.out)) if args.out and os.path.exists(args.out) else {}
    curve = peer_curve(args)
    print(f"{'type':18} {'engine':7} {'bytes':>11} {'ppl':>9} {'KL mean':>9} {'KL 99%':>9} {'same top':>8} {'seconds':>8}"
          f" {'of curve':>8}")
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(args.out or "."))) as work:
        base, out = os.path.join(work, "base"), os.path.join(work, "q.gguf")
        judge(args, args.model, base, save=True)
        for kind in args.types.split(","):
            for imatrix in [None, args.imatrix] if args.imatrix else [None]:
                for engine in ["tenon", "peer"] if args.peer else ["tenon"]:
                    key = f"{kind}{'+imatrix' if imatrix else ''} {engine}"
                    if key not in results:
                        seconds = quantize(args, engine, kind, imatrix, out)
                        results[key] = {"refused": True}
                        if seconds is not None:
                            found = judge(args, out, base)
                            results[key] = {"bytes": os.path.getsize(out), "seconds": seconds, **found}
                        if args.out:
                            json.dump(results, open(args.out, "w"), indent=1)
                    row = results[key]
                    if "refused" in row:
                        continue
                    there = on_curve(curve, row["bytes"])
                    ratio = f"{row['kl_mean'] / there:8.3f}" if there else ""
                    print(f"{key.split()[0]:18} {engine:7} {row['bytes']:11} {row['perplexity']:9.4f} {row['kl_mean']:9.5f}"
                          f" {row['kl_99']:9.5f} {100 * row['same_top']:7.2f}% {row['seconds']:8.1f}"
                          f" {ratio:>8}", flush=True)


if __name__ == "__main__":
    main()
