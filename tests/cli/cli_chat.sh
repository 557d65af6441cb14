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
chat '/set temp hot\n' 2; errs "temp"
chat '/set nothing 1\n' 2; errs "variable"
chat 'raise\n' 1; errs "raised"
printf '%s\n' hello >"$work/in"
expect 0 "$tenon" chat -m "$m" $t -c 32; errs "context of 32 tokens is full"
(printf 'hello %.0s' $(seq 60); echo) >"$work/in"
expect 1 "$tenon" chat -m "$m" $t -c 32; errs "the context holds 32"
expect 2 "$tenon" chat -m "$m"; errs "no chat template"

if command -v python3 >/dev/null; then
    echo 'leak:wcsdup' >"$work/libedit.supp" # which keeps what a key was bound to
    LSAN_OPTIONS=suppressions=$work/libedit.supp expect 0 timeout 200 python3 "$(dirname "$0")/chat_terminal.py" "$tenon" "$m" "$work/t.jinja"
else
    echo "skipped: chat on a terminal (no python3)"
fi
finish
