# The public tokenizer cases through tenon tokenize --jsonl and tenon detokenize: token_cases.py. Skipped by name where
# they, or Python, are not at hand.
. "$(dirname "$0")/cli.sh"
cases=${TENON_TEST_SHARED:-}/tokenizer/cases
[ -d "$cases" ] || { echo "no folder tokenizer/cases: the public cases were not compared"; exit 77; }
python3 -c 'import json, lzma' 2>/dev/null || { echo "no Python: the public cases were not compared"; exit 77; }
python3 "$(dirname "$0")/token_cases.py" "$tenon" "$TENON_TEST_SHARED" "$work"
