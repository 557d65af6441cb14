# tenon chat, and tenon run through a template: messages, commands, stop strings, a full context, a terminal.
. "$(dirname "$0")/cli.sh"
m=$models/llama.gguf
cat >"$work/t.jinja" <<'END'
{%- for m in messages %}{{ m.role[0] + m.content }}{% endfor %}{% if add_generation_prompt %}a{% endif %}
{%- if extra is defined %}{{ extra }}{% endif %}
{%- if messages[-1].content == 'raise' %}{{ raise_exception('raised') }}{% endif %}
END
t="--template $work/t.jinja --temp 0 -t 1 --ignore-eos"

# run: the message goes through the template, --raw does not; a rendered text given raw has the same answer.
expect 0 "$tenon" run -m "$m" $t -p hello -n 8; errs "chat template"; errs "--raw"; answer=$(cat "$work/out")
expect 0 "$tenon" run -m "$m" --raw --temp 0 -t 1 --ignore-eos -p uhelloa -n 8; same "raw" "$answer" "$(cat "$work/out")"
expect 0 "$tenon" run -m "$m" $t -p hello -n 8 -q; quiet_err
echo '[{"role": "user", "content": "hello"}]' >"$work/one.json"
expect 0 "$tenon" run -m "$m" $t --messages "$work/one.json" -n 8; same "messages" "$answer" "$(cat "$work/out")"
expect 0 "$tenon" run -m "$m" $t --system be -p hello -n 8; system=$(cat "$work/out")
expect 0 "$tenon" run -m "$m" --raw --temp 0 -t 1 --ignore-eos -p sbeuhelloa -n 8; same "system" "$system" "$(cat "$work/out")"
expect 2 "$tenon" run -m "$m" $t --messages "$work/one.json" -p x; errs "--messages"
expect 2 "$tenon" run -m "$m" --raw --messages "$work/one.json"; errs "--raw"
echo '{"messages": [], "tools": [{}]}' >"$work/tools.json"
expect 2 "$tenon" run -m "$m" --raw --messages "$work/tools.json"; errs "--raw"
expect 2 "$tenon" run -m "$m" --messages "$work/one.json"; errs "no chat template"
expect 1 "$tenon" run -m "$m" $t -p raise; errs "raised"; quiet_out
printf '{{ messages | nothing }}' >"$work/wrong.jinja"
expect 1 "$tenon" run -m "$m" --template "$work/wrong.jinja" -p x; errs "line 1"; errs "nothing"

# BOS: once, whoever writes it; a message that spells it does not take it away.
printf '{{ messages[0].content }}' >"$work/plain.jinja"
printf '{{ bos_token }}{{ messages[0].content }}' >"$work/bos.jinja"
printf ' {{ bos_token }}{{ messages[0].content }}' >"$work/later.jinja"
printf '<s>{{ messages[0].content }}' >"$work/literal.jinja"
count() { # count TEMPLATE TEXT: tokens of the prompt
    expect 0 "$tenon" run -m "$m" --template "$work/$1.jinja" -p "$2" -n 0
    tokens=$(sed -n 's/^prompt: \([0-9]*\) tokens.*/\1/p' "$work/err")
}
count plain x; one=$tokens
count bos x; same "BOS by the template" "$one" "$tokens"
count literal x; same "BOS spelt out in the template" "$one" "$tokens"
count plain '<s>x'; checks=$((checks + 1)); [ "$tokens" -gt $((one + 1)) ] || fail "a message forged or lost BOS: $tokens tokens"
spelt=$tokens
count bos '<s>x'; same "BOS spelt in the message" "$spelt" "$tokens"
count later x; later=$tokens; count bos ' x'; checks=$((checks + 1))
[ "$later" -le $((tokens + 1)) ] || fail "BOS twice where the template writes a blank before it: $later tokens"
if command -v python3 >/dev/null; then
    patch() { python3 "$(dirname "$0")/patch_gguf.py" "$m" "$@" || fail "patch_gguf.py $*"; }
    printf '[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"}, {"role": "user", "content": "hi"}]' >"$work/turns.json"
    printf '{%% for m in messages %%}{{ m.content }}{%% if m.role == "assistant" %%}{{ eos_token }}{%% endif %%}{%% endfor %%}' >"$work/eos.jinja"
    turns() { # turns MODEL TEMPLATE: tokens of the conversation
        expect 0 "$tenon" run -m "$1" --template "$work/$2.jinja" --messages "$work/turns.json" -n 0
        tokens=$(sed -n 's/^prompt: \([0-9]*\) tokens.*/\1/p' "$work/err")
    }
    patch "$work/same.gguf" bos=2
    turns "$m" eos; usual=$tokens
    turns "$work/same.gguf" eos; same "BOS of a file whose turns end with BOS" "$usual" "$tokens"
    printf '{{ bos_token }}' | cat - "$work/eos.jinja" >"$work/both.jinja"
    turns "$work/same.gguf" both; same "BOS that the template writes there" "$usual" "$tokens"
    for type in 1 4; do # of a normal and a user-defined entry any text can make BOS
        patch "$work/type.gguf" type:1=$type
        kept=$m; m=$work/type.gguf
        for text in x '<s>' '<s>x' 'x<s>' 'x <s>'; do
            count bos "$text"; usual=$tokens
            [ $type = 1 ] && continue # the template's is text there too
            count plain "$text"; same "BOS of type $type before $text" "$usual" "$tokens"
        done
        count plain ''; same "BOS of type $type is one token more" 1 "$tokens"
        m=$kept
    done
fi

# Stop strings: the answer up to where one begins, wherever tokens end.
long=$("$tenon" run -m "$m" $t -q -p hello -n 24)
for from in 1 3 5; do
    stop=$(printf '%s' "$long" | cut -c$from-$((from + 2)) | head -1)
    [ ${#stop} = 3 ] || continue
    expect 0 "$tenon" run -m "$m" $t -p hello -n 24 --stop "$stop" --stop "never seen"; errs "stop: stop"
    same "before $stop" "${long%%"$stop"*}" "$(cat "$work/out")"
done
expect 2 "$tenon" run -m "$m" $t -p hello --stop ""

# chat from a pipe: a line a message; the second turn has the first before it.
chat() { # chat LINES STATUS
    printf "$1" >"$work/in"
    expect "$2" "$tenon" chat -m "$m" $t -n 8
}
chat 'hello\n' 0; same "one turn" "$answer" "$(cat "$work/out")"
chat 'hello\n/save '"$work"'/saved.json\nagain\n' 0
two=$(tail -n +$(($(printf '%s\n' "$answer" | wc -l) + 1)) "$work/out")
expect 0 "$tenon" run -m "$m" --raw --temp 0 -t 1 --ignore-eos -n 8 -p "uhelloa${answer}uagaina"
same "the second turn" "$two" "$(cat "$work/out")"
chat '/load '"$work"'/saved.json\nagain\n' 0; same "loaded" "$two" "$(cat "$work/out")"

# /load: the tools of the file, or none; and the template for them. Those of --tools stay.
printf '{%% if tools %%}T{{ tools[0].f }}{%% endif %%}{%% for m in messages %%}{{ m.role[0] + m.content }}{%% endfor %%}a' >"$work/tooled.jinja"
printf '{"messages": [], "tools": [{"f": 1}]}' >"$work/with.json"
printf '{"messages": [], "tools": [{"f": 2}]}' >"$work/with2.json"
printf '{"messages": []}' >"$work/without.json"
printf '[{"f": 3}]' >"$work/given.json"
raw() { expect 0 "$tenon" run -m "$m" --raw --temp 0 -t 1 --ignore-eos -n 8 -p "$1"; raw=$(cat "$work/out"); }
loads() { # loads TEXT LINES ARGUMENT...: what the model answers to the rendered text is the last answer
    text=$1; lines=$2; shift 2
    raw "$text"; printf "$lines" >"$work/in"
    expect 0 "$tenon" chat -m "$model" --temp 0 -t 1 --ignore-eos -n 8 "$@"; says "$raw"
}
model=$m; tooled="--template $work/tooled.jinja"
loads T1uqa "/load $work/with.json\nq\n" $tooled
loads uqa "/load $work/with.json\n/load $work/without.json\nq\n" $tooled
loads T2uqa "/load $work/with.json\n/load $work/without.json\n/load $work/with2.json\nq\n" $tooled
loads uqa "/load $work/without.json\nq\n" $tooled --messages "$work/with.json"
loads T3uqa "/load $work/without.json\n/load $work/with.json\nq\n" $tooled --tools "$work/given.json"
if command -v python3 >/dev/null; then
    patch "$work/two.gguf" "template:={{ 'D' + (x if x is defined else '') + messages[-1].content }}" \
        "template:tool_use={{ 'U' + (x if x is defined else '') + messages[-1].content }}"
    patch "$work/tools.gguf" "template:tool_use={{ 'U' + messages[-1].content }}"
    model=$work/two.gguf
    loads Uq "/load $work/with.json\nq\n"
    loads Dq "/load $work/with.json\n/load $work/without.json\nq\n"
    loads Uyq "/set x \"y\"\n/load $work/with.json\nq\n" # what was set stays
    printf '/load %s\nq\n' "$work/without.json" >"$work/in"
    expect 1 "$tenon" chat -m "$work/tools.gguf" --temp 0 -t 1 -n 2 --messages "$work/with.json"; errs "with tools only"
fi
chat 'hello\n/undo\nhello\n' 0; same "undone" "$answer
$answer" "$(cat "$work/out")"
chat 'hello\n/retry\n' 0; same "again" "$answer
$answer" "$(cat "$work/out")"
chat 'other\n/clear\nhello\n' 0; says "$answer"
chat '/system be\nhello\n' 0; same "system" "$system" "$(cat "$work/out")"
chat '/set extra "x"\nhello\n' 0
expect 0 "$tenon" run -m "$m" --raw --temp 0 -t 1 --ignore-eos -p uhelloax -n 8
expect 0 "$tenon" run -m "$m" --raw --temp 0 -t 1 --ignore-eos -p 'uuno
duea' -n 8; lines=$(cat "$work/out")
chat '"""uno\ndue"""\n' 0; same "quoted lines" "$lines" "$(cat "$work/out")"
chat 'uno\\\ndue\n' 0; same "joined lines" "$lines" "$(cat "$work/out")"
chat '"""\nuno\ndue\n"""\n' 0; same "quotes on lines of their own" "$lines" "$(cat "$work/out")"
chat '/undo\nhello\n' 2; same "on after a failure" "$answer" "$(cat "$work/out")"
expect 0 "$tenon" chat -m "$m" $t -n 8 -p hello; same "the first message" "$answer" "$(cat "$work/out")"
expect 1 "$tenon" chat -m "$m" $t -n 8 -f "$work/no.txt"; errs "no.txt"
expect 2 "$tenon" chat -m "$m" $t -p a -f b; errs "exclude"
chat '/help\n' 0; says "/retry"
chat '/show\n' 0; says "context:"
chat '/bye\nhello\n' 0; quiet_out
chat '' 0; quiet_out
chat '/nothing\n' 2; errs "no command"
chat '/undo\n' 2; errs "nothing to take back"
chat '/load '"$work"'/no.json\n' 1; errs "no.json"
chat '/set nothing 1\n' 2; errs "variable"
chat '/set\n' 2; errs "NAME VALUE"
chat '/set extra {"a":\n' 2; errs "/set extra: the value is no JSON (column 5"
chat '/set messages []\n' 2

# /set is the command line's options: all that /show prints can be set, with the same limits and the same words.
shown() { # shown NAME VALUE: in the last report of /show
    checks=$((checks + 1))
    now=$(sed -n "s/^$1: *//p" "$work/out" | tail -1)
    [ "$now" = "$2" ] || fail "/show: $1 is \"$now\", expected \"$2\""
}
chat '/show\n' 0
names=$(sed -n '/^context:/,$p' "$work/out" | sed '1d; s/:.*//')
same "options of a conversation" "count seed temp top-k top-p min-p repeat-penalty repeat-last-n special stop ignore-eos verbose" \
    "$(echo $names)"
shown count 8; shown temp 0; shown ignore-eos true; shown stop '[]'; shown top-p 0.95
while read -r name good bad; do
    chat "/set $name $good\n/show\n" 0; shown "$name" "$good"
    for value in $bad; do
        chat "/set $name $value\n" 2; refusal=$(grep '^tenon chat: ' "$work/err")
        expect 2 "$tenon" chat -m "$m" $t "--$name=$value"
        [ "$name" = special ] || same "--$name $value" "$(grep '^tenon chat: ' "$work/err")" "$refusal"
    done
done <<'END'
count 5 -2 2147483648 1.5 x
seed 18446744073709551615 -1 18446744073709551616 x
temp 0.7 -1 1000001 hot nan
top-k 3 -1 2147483648 0.5
top-p 0.25 -0.1 1.1 x
min-p 0.125 -0.1 1.1 x
repeat-penalty 1.3 0 1000001 x
repeat-last-n -1 -2 2147483648 x
special true yes 1
ignore-eos false
verbose false
END
chat '/set temp = 0.7\n/set count=5\n/show\n' 0; shown temp 0.7; shown count 5
chat '/set temp\n' 2; errs "temp"

# What is set holds from the next answer on.
random="--template $work/t.jinja -t 1 --ignore-eos"
expect 0 "$tenon" run -m "$m" $t -p hello -n 3; short=$(cat "$work/out")
chat '/set count 3\nhello\n' 0; same "/set count" "$short" "$(cat "$work/out")"
seeded=$("$tenon" run -m "$m" $random -q -p hello -n 8 --seed 7 --temp 2 --top-k 0 --top-p 1 --min-p 0)
chat 'hello\n/undo\n/set seed 7\n/set temp 2\n/set top-k 0\n/set top-p 1\n/set min-p 0\nhello\n/show\n' 0
says "$seeded"; shown seed 8; checks=$((checks + 1)); [ "$seeded" != "$answer" ] || fail "the seed changes nothing"
expect 0 "$tenon" run -m "$m" $random -p hello -n 8 --temp 0 --repeat-penalty 1000; other=$(cat "$work/out")
chat '/set repeat-penalty 1000\nhello\n' 0; same "/set repeat-penalty" "$other" "$(cat "$work/out")"
begin=$(printf '%s' "$answer" | cut -c3-5 | head -1)
chat "/set stop never seen\n/set stop $begin\nhello\n" 0; same "/set stop" "${answer%%"$begin"*}" "$(cat "$work/out")"
chat "/set stop $begin\n/set stop\nhello\n" 0; same "no stop" "$answer" "$(cat "$work/out")"
chat '/set stop \\\n"a b"\n/show\n' 0; shown stop '["\n\"a b\""]'
chat '/set verbose true\nhello\n' 0; errs "stop: length"

# /save replaces what this conversation was read from or written to, and nothing else.
cp "$work/saved.json" "$work/theirs.json"
chat "hello\n/save $work/theirs.json\n" 2; errs "theirs.json is there already"; errs "/save!"
cmp -s "$work/saved.json" "$work/theirs.json" || fail "/save replaced a file"
chat "hello\n/save! $work/theirs.json\n/save $work/theirs.json\n" 0
chat "/load $work/theirs.json\n/save $work/theirs.json\n" 0
chat "hello\n/save $work/new.json\nagain\n/save $work/./new.json\n" 0
checks=$((checks + 1)); [ "$(grep -c role "$work/new.json")" = 4 ] || fail "the second /save wrote nothing"
chat "hello\n/save $work/new2.json\n/clear\n/save $work/new2.json\n" 2; errs "new2.json is there already"
chat "/load $work/new.json\n/load $work/theirs.json\n/save $work/new.json\n" 2; errs "new.json is there already"
printf '/save %s\n' "$work/one.json" >"$work/in"
expect 0 "$tenon" chat -m "$m" $t --messages "$work/one.json"
chat '/save\n' 2; errs "missing"
chat '/save!\n' 2; errs "missing"
chat 'raise\n' 1; errs "raised"
printf '%s\n' hello >"$work/in"
expect 0 "$tenon" chat -m "$m" $t -c 32; errs "context of 32 tokens is full"
(printf 'hello %.0s' $(seq 60); echo) >"$work/in"
expect 1 "$tenon" chat -m "$m" $t -c 32; errs "the context holds 32"
expect 2 "$tenon" chat -m "$m"; errs "no chat template"

expect_directory() { "$tenon" chat -m "$m" $t <"$work"; }
expect 1 expect_directory; errs "standard input"

# A rendering ends with ^C and its like; a template that takes long to fail:
cat >"$work/slow.jinja" <<'END'
{%- if messages[-1].content == 'slow' %}
{%- set a = 'a' * 1000000 %}
{%- for i in range(99999) %}{% if a is lower %}{% endif %}{% endfor %}
{%- endif %}
{%- for m in messages %}{{ m.content }}{% endfor %}
END
echo '[{"role": "user", "content": "slow"}]' >"$work/slow.json"
echo slow >"$work/slow.txt"
for signal in INT TERM HUP; do
    for c in "template --messages $work/slow.json" "run -p slow" "chat"; do
        command="tenon $c, then SIG$signal"; ended=$((128 + $(kill -l $signal)))
        for delay in 0.5 0.2 0.1; do # a template that has met its limit before is tried again, sooner
            env --default-signal=$signal "$tenon" ${c%% *} -m "$m" --template "$work/slow.jinja" $(echo "$c" | cut -s -d' ' -f2-) \
                <"$work/slow.txt" >"$work/out" 2>"$work/err" &
            child=$!
            sleep $delay; kill -$signal $child; wait $child
            status=$?
            grep -q "too many steps" "$work/err" || break
        done
        checks=$((checks + 1))
        [ "$status" = $ended ] || fail "status $status, expected $ended"
        quiet_out
    done
done

if command -v python3 >/dev/null; then
    expect 0 timeout 200 python3 "$(dirname "$0")/chat_terminal.py" "$tenon" "$m" "$work/slow.jinja" "$work/terminal.json"
else
    echo "skipped: chat on a terminal (no python3)"
fi
finish
