"""Cosines of embedded texts to goldens: minilm.py TENON MODEL GOLDEN.json LEAST. Fails if one is not above LEAST."""
import json
import math
import subprocess
import sys

tenon, model, golden, least = sys.argv[1:]
cases = json.load(open(golden))["cases"]
texts = "".join(case["text"] + "\n" for case in cases)
run = subprocess.run([tenon, "embed", "-m", model, "--json"], input=texts.encode(), stdout=subprocess.PIPE, check=True)
rows = [json.loads(line) for line in run.stdout.splitlines()]
assert len(rows) == len(cases), (len(rows), len(cases))
worst = 1.0
for case, row in zip(cases, rows):
    assert row["tokens"] == len(case["ids"]), (case["text"], row["tokens"], case["ids"])
    a, b = case["embedding"], row["embedding"]
    cosine = sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    worst = min(worst, cosine)
    print("%.7f  %s" % (cosine, case["text"]))
print("least %.7f, to be above %s" % (worst, least))
sys.exit(0 if worst > float(least) else 1)
