"""ranks.py "ARGS" "ARGS" ..: starts a dgc-run for each, --coordinator at a free port of this machine added, and shows
what each printed (standard error too) and its exit code, one after the other."""

import shlex
import socket
import subprocess
import sys

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    coordinator = "127.0.0.1:%d" % free.getsockname()[1]
processes = [
    subprocess.Popen(["dgc-run", *shlex.split(arguments), "--coordinator", coordinator],
                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for arguments in sys.argv[1:]
]
for number, process in enumerate(processes):
    output = process.communicate(timeout=120)[0]
    print("process", number)
    print(output.replace(coordinator, "COORDINATOR"), end="")
    print("code", process.returncode)
