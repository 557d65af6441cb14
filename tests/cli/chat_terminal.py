#!/usr/bin/env python3
"""tenon chat on a terminal: editing, tabs, recall, ^C in an answer, in a rendering and while typing, ^D.
Usage: chat_terminal.py TENON MODEL TEMPLATE FILE (which /save may write)"""
import json
import os
import pty
import select
import sys
import time

tenon, model, template, saved = sys.argv[1:5]
child, terminal = pty.fork()
if child == 0:
    os.environ["TERM"] = "xterm"
    os.execv(tenon, [tenon, "chat", "-m", model, "--template", template, "--temp", "0", "--ignore-eos", "-c", "100000"])

seen = b""


def read_until(what, seconds=60):
    """Reads on until `what` has come since the last call."""
    global seen
    end = time.monotonic() + seconds
    while what not in seen:
        if time.monotonic() > end or not select.select([terminal], [], [], end - time.monotonic())[0]:
            sys.exit(f"waited in vain for {what!r}; there was {seen[-400:]!r}")
        try:
            seen += os.read(terminal, 4096)
        except OSError:
            sys.exit(f"the program ended before {what!r}; there was {seen[-400:]!r}")
    got, seen = seen[:seen.index(what) + len(what)], seen[seen.index(what) + len(what):]
    return got


def prompt(what=b"> "):
    """A prompt, and then nothing more: the program waits for a line."""
    global seen
    read_until(what)
    while select.select([terminal], [], [], 0.5)[0]:
        os.read(terminal, 4096)
    seen = b""


def send(text):
    os.write(terminal, text)


prompt()
send(b"helo\x1b[D\x1b[Dl\r")        # two to the left, another l: "hello"
time.sleep(1)
send(b"\x03")                       # the answer would go on for 100000 tokens
read_until(b"stopped")
prompt()
send(b"/show\r")
read_until(b"messages:")
read_until(b"2")                    # the question, and the answer as far as it came
prompt()
send(b"something")
read_until(b"something")
send(b"\x03")                       # ^C while typing: the line is forgotten
prompt()
send(b"/show\r")
read_until(b"messages:")
assert b" 2" in read_until(b"tokens")
prompt()
send(b"\x1b[A\x1b[A\x1b[A")         # up to the question
read_until(b"hello")
send(b"\x03")
prompt()
send(b"\x03")                       # ^C at an empty prompt: nothing is lost
prompt()
send(b'"""\r')
prompt(b". ")
send(b"first\r")
prompt(b". ")
send(b"\x03")                       # ^C in a message of several lines: it is not sent
prompt()


def messages():
    """What the conversation holds, but for the answers."""
    send(f"/save! {saved}\r".encode())
    prompt()
    with open(saved, encoding="utf-8") as file:
        return [message["content"] for message in json.load(file) if message["role"] != "assistant"]


def ask(text):
    """Sends a line; its answer is stopped."""
    send(text)
    time.sleep(1)
    send(b"\x03")
    read_until(b"stopped")
    prompt()


send(b"slow\r")                     # the template would take seconds
time.sleep(0.5)
send(b"\x03")
read_until(b"stopped")
prompt()
assert messages() == ["hello"], messages()
ask(b"a\tb\tc\r")                  # tabs, typed or pasted, are characters
assert messages() == ["hello", "a\tb\tc"], messages()
send(b'"""\r')
prompt(b". ")
send(b"one\r")
prompt(b". ")
ask(b'two"""\r')
assert messages()[2:] == ["one\ntwo"], messages()
send(b"\x1b[A\x1b[A")               # up, behind /save!, to the message of two lines
read_until(b"two")
ask(b"\x1b[D\x1b[DX\r")             # two to the left, an X
assert messages()[2:] == ["one\ntwo", "one\ntXwo"], messages()
for _ in range(3):
    send(b"/undo\r")
    prompt()
send("/system é日本🎉x\r".encode())
prompt()
send(b"/show\r")
read_until(b"messages:")
assert b" 3" in read_until(b"tokens")
read_until("é日本🎉x".encode())
prompt()
send(b"/system\r")
prompt()
send(b"/undo\r")
prompt()
send(b"/show\r")
assert b" 0" in read_until(b"tokens")
prompt()
send(b"\x04")                       # ^D
_, status = os.waitpid(child, 0)
sys.exit(0 if status == 0 else f"ended with status {status}")
