# tenon template: prompts, variables, errors by place; the files' own templates where they are there.
. "$(dirname "$0")/cli.sh"
m=$models/llama.gguf
cat >"$work/t.jinja" <<'END'
{%- for m in messages %}
{{- '<' + m.role + '>' + m.content }}
{%- if m.role == 'assistant' %}{{ eos_token }}{% endif %}
{%- endfor %}
{%- if tools %}{{ tools | tojson }}{% endif %}
{%- if add_generation_prompt %}<assistant>{% endif %}
{%- if mood is defined %}{{ mood }}{% endif %}
{%- if messages[0].role == 'clock' %}{{ strftime_now('%Y-%m-%d %H:%M') }}{% endif %}
{%- if messages[0].role == 'bad' %}{{ raise_exception('no ' + messages[0].role + ' roles') }}{% endif %}
END
echo '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}]' >"$work/two.json"
echo '{"messages": [{"role": "user", "content": "Hi"}], "tools": [{"name": "f"}]}' >"$work/tools-in.json"
echo '[{"name": "g", "n": 1.0}]' >"$work/tools.json"
echo '[{"role": "clock", "content": ""}]' >"$work/clock.json"
echo '[{"role": "bad", "content": ""}]' >"$work/bad.json"
prompt() { # prompt WANTED ARGUMENT...
    text=$1; shift
    expect 0 "$tenon" template -m "$m" --template "$work/t.jinja" "$@"
    same "$*" "$text" "$(cat "$work/out")"
    quiet_err
}
prompt '<user>Hi<assistant>Yes</s><assistant>' --messages "$work/two.json" --set 'eos_token="</s>"'
prompt '<user>Hi<assistant>YesE' --messages "$work/two.json" --set 'eos_token="E"' --set add_generation_prompt=false
prompt '<user>Hi[{"name": "f"}]<assistant>' --messages "$work/tools-in.json"
prompt '<user>Hi<assistant>Yes[{"name": "g", "n": 1.0}]<assistant>' --messages "$work/two.json" --tools "$work/tools.json" --set 'eos_token=""'
prompt '<user>Hi[{"name": "f"}]<assistant>['\''glad'\'']' --messages "$work/tools-in.json" --set 'mood=["glad"]'
prompt '<clock><assistant>2026-01-15 09:30' --messages "$work/clock.json" --now 2026-01-15T09:30:00

expect 1 "$tenon" template -m "$m" --template "$work/t.jinja" --messages "$work/bad.json"; errs "no bad roles"; quiet_out
expect 1 "$tenon" template -m "$m" --messages "$work/two.json"; errs "no chat template"; quiet_out
expect 2 "$tenon" template -m "$m" --template "$work/t.jinja"; errs "--messages"
expect 1 "$tenon" template -m "$m" --template "$work/nothing" --messages "$work/two.json"; errs "nothing"
expect 1 "$tenon" template -m "$m" --template-name x --messages "$work/two.json"; errs "no chat template is called x"
expect 2 "$tenon" template -m "$m" --template "$work/t.jinja" --messages "$work/two.json" --set mood; errs "NAME=JSON"
expect 2 "$tenon" template -m "$m" --template "$work/t.jinja" --messages "$work/two.json" --set mood=glad; errs "no JSON"
expect 2 "$tenon" template -m "$m" --template "$work/t.jinja" --messages "$work/two.json" --set mood=9223372036854775808
errs "--set mood"; errs "column 19"; errs "too big integer"
expect 2 "$tenon" template -m "$m" --template "$work/t.jinja" --messages "$work/two.json" --set "$(printf '\377=1')"; errs "no UTF-8"
for time in yesterday 2026-02-30T00:00:00 2025-02-29T01:00:00 2026-01-01T00:00:60 2026-01-01; do
    expect 2 "$tenon" template -m "$m" --template "$work/t.jinja" --messages "$work/two.json" --now $time; errs "--now"
done
expect 2 "$tenon" template -m "$m" --template "$work/t.jinja" --messages "$work/two.json" --set messages=[]; errs "--messages"
expect 2 "$tenon" template -m "$m" --template "$work/t.jinja" --template-name x --messages "$work/two.json"; errs "exclude"
printf '\357\273\277{"messages": [{"role": "user", "content": "Hi"}], "tools": null}' >"$work/marked.json"
prompt '<user>Hi<assistant>' --messages "$work/marked.json"
printf '[{"role": "user",\n "content": "Hi", "n": 9223372036854775808}]' >"$work/wrong.json"
expect 1 "$tenon" template -m "$m" --template "$work/t.jinja" --messages "$work/wrong.json"
errs "wrong.json: line 2, column 42: too big integer"; quiet_out
for text in '{' '[1]' '{"role": "user"}' '[{"content": "no role"}]' '[{"role": 3}]' '[{"role": "a", "role": "b"}]' ''; do
    printf '%s' "$text" >"$work/wrong.json"
    expect 1 "$tenon" template -m "$m" --template "$work/t.jinja" --messages "$work/wrong.json"; errs "wrong.json"; quiet_out
done
# What there is not is an error with its place when the template is read, whatever the messages say.
while IFS= read -r text; do
    printf '\n%s' "$text" >"$work/wrong.jinja"
    expect 1 "$tenon" template -m "$m" --template "$work/wrong.jinja" --messages "$work/two.json"; errs "line 2"; quiet_out
done <<'END'
{% if false %}{{ messages | no_such_filter }}{% endif %}
{% if false %}{{ messages is no_such_test }}{% endif %}
{% no_such_tag %}
{% if false %}{{ 'a'.no_such_method() }}{% endif %}
{% if false %}{{ messages | join(no_such_argument=1) }}{% endif %}
{% include 'file' %}
{{ 1 +
{% for x in y %}
END
printf '{%% for a in range(10**9) %%}{%% endfor %%}' >"$work/slow.jinja"
expect 1 "$tenon" template -m "$m" --template "$work/slow.jinja" --messages "$work/two.json"

expect 0 "$tenon" template -m "$m" --template "$work/t.jinja" --info --json
says '"system": true'; says '"tools": true'; says '"thinking": false'
finish
