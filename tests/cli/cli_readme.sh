# The README tells the truth: every indented line of it that begins with "tenon " is run as it stands, on the real model
# where that is at hand, and on a fixture elsewhere. Words in <angle brackets> are not there to be typed.
. "$(dirname "$0")/cli.sh"
model=${TENON_TEST_SMOLLM2:-}
[ -n "$model" ] || { echo "the real model is not at hand (TENON_TEST_SMOLLM2): the README's commands run on a fixture"; model=$models/llama.gguf; }
cd "$work" && ln -s "$model" model.gguf && seq -s ' is a number, ' 300 >text.txt && printf 'hello\n' >prompt.txt
mkdir bin && ln -s "$tenon" bin/tenon && PATH=$work/bin:$PATH
while IFS= read -r line; do
    case $model:$line in
    "$models"/*:tenon\ chat*|"$models"/*:tenon\ template*) echo "skipped: $line (the fixture has no chat template)"; continue ;;
    esac
    echo "$line"
    expect 0 sh -c "$line"
done < <(sed -n 's/^    \(tenon .*\)$/\1/p' "$TENON_TEST_SOURCE/README.md" | sed 's/ *# .*//')
[ "$checks" -ge 6 ] || { echo "the README shows $checks commands"; faults=1; }
finish
