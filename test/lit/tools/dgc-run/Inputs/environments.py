"""environments.py "NAME=VALUE .." "NAME=VALUE .." .. -- COMMAND..: runs the command once for each, at the same time, with these
variables set; PORT_ in a value is a free port of this machine. Shows what each printed, and its exit code."""

import os
import shlex
import socket
import subprocess
import sys

split = sys.argv.index("--")
with socket.create_server(("127.0.0.1", 0)) as free:
    port = str(free.getsockname()[1])
processes = [
    subprocess.Popen(sys.argv[split + 1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                     env=dict(os.environ, **dict(word.replace("PORT_", port).split("=", 1) for word in shlex.split(words))))
    for words in sys.argv[1:split]
]
for words, process in zip(sys.argv[1:split], processes):
    output = process.communicate(timeout=120)[0]
    print(output.replace(port, "PORT"), end="")
    print("code", process.returncode)
