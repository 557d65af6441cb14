# tenon plugins: list, explain, check.
. "$(dirname "$0")/cli.sh"
expect 0 "$tenon" plugins list
for id in arch.llama backend.cpu backend.reference format.f16 format.q4_1 tokenizer.bpe tokenizer.spm tokenizer.wordpiece; do says "$id"; done
says_not "NOT USABLE"
expect 0 "$tenon" plugins list --json
python3 -c 'import json,sys; assert len(json.load(open(sys.argv[1]))) >= 12' "$work/out" || fail "not JSON, or too short"
expect 0 "$tenon" plugins explain arch.llama; says "mistral"; says "azmx"
expect 0 "$tenon" plugins explain mistral; says "arch.llama"
expect 0 "$tenon" plugins explain q4_1; says "format.q4_1"
expect 0 "$tenon" plugins explain mamba; says "not supported"
expect 0 "$tenon" plugins explain IQ1_S; says "not supported"
expect 2 "$tenon" plugins explain nobody; errs "nobody"
expect 0 "$tenon" plugins check "$TENON_TEST_BUILD/lib/tenon/plugins/format.q4_1.so"; says "ok"; says_not "FAIL"
expect 3 "$tenon" plugins check "$TENON_TEST_BUILD/lib/libtenon.so"; says "FAIL"
# Whatever keeps a plugin from being tried is a row of the report: no tenon-probe beside the library, or one that is none.
mkdir -p "$work/bare/bin" "$work/bare/lib/tenon/plugins"
cp "$TENON_TEST_BUILD"/lib/tenon/plugins/{known.sha256,format.f16.*} "$work/bare/lib/tenon/plugins"
cp "$tenon" "$work/bare/bin"; cp -P "$TENON_TEST_BUILD"/lib/libtenon.so* "$work/bare/lib"
q4=$TENON_TEST_BUILD/lib/tenon/plugins/format.q4_1.so
expect 1 env LD_LIBRARY_PATH="$work/bare/lib" "$work/bare/bin/tenon" plugins check "$q4"
says "ok   elf"; says "FAIL trial"; says "tenon-probe"; errs "cannot be tried"
expect 1 env LD_LIBRARY_PATH="$work/bare/lib" "$work/bare/bin/tenon" plugins check "$q4" --json
python3 - "$work/out" <<'PYTHON' || fail "no check of the report failed"
import json, sys
report = json.load(open(sys.argv[1]))
assert not report["accepted"] and [row["check"] for row in report["checks"] if not row["passed"]] == ["trial"], report
PYTHON
printf 'no program' >"$work/bare/lib/tenon/tenon-probe"; chmod +x "$work/bare/lib/tenon/tenon-probe"
expect 1 env LD_LIBRARY_PATH="$work/bare/lib" "$work/bare/bin/tenon" plugins check "$q4"; says "FAIL trial"
expect 2 "$tenon" plugins; errs "list"
expect 2 "$tenon" plugins list more; errs "nothing more"
expect 2 "$tenon" plugins check; errs "file"

# A foreign plugin is listed from its manifest alone, even if its library is no library at all.
mkdir "$work/plugins"
sed -e 's/format\.q4_1/format.mine/; s/^type = .*/type = 250/; s/Q4_1/MINE/' "$TENON_TEST_BUILD/lib/tenon/plugins/format.q4_1.ini" \
    >"$work/plugins/format.mine.ini"
printf 'no library' >"$work/plugins/format.mine.so"
expect 0 "$tenon" plugins list --plugin-dir "$work/plugins"; says "format.mine"; says "MINE"
expect 3 "$tenon" plugins check "$work/plugins/format.mine.so"; says "FAIL"

# A manifest that lists ops is held to them; one that is wrong is warned of.
mkdir "$work/ops"
cp "$TENON_TEST_BUILD/lib/tenon/plugins/arch.llama.so" "$work/ops"
grep -v '^op = glu' "$TENON_TEST_BUILD/lib/tenon/plugins/arch.llama.ini" >"$work/ops/arch.llama.ini"
expect 3 "$tenon" fit -m "$models/llama.gguf" --plugin-dir "$work/ops"; says "plugin.manifest"; says "glu"
echo 'misspelt = 1' >>"$work/ops/arch.llama.ini"
expect 0 "$tenon" fit -m "$models/llama.gguf" --plugin-dir "$work/ops"; errs "misspelt"

chmod go+w "$work/plugins"
expect 0 "$tenon" plugins list --plugin-dir "$work/plugins"; says "writ"
finish
