"""Starts the workers of a job one by one, as the manager of a cluster does, kills one of them after some steps, and starts that again; with
REPLACE=0 in the environment it does not.

replace_rank.py WORKERS RANK -- COMMAND..: the command has --log-json FILE."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

world, killed, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[4:]
log = command[command.index("--log-json") + 1]
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]


def start(rank):
    return subprocess.Popen([*command, "--rank", str(rank), "--world-size", str(world), "--coordinator", f"127.0.0.1:{port}"],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def steps():
    try:
        with open(log, encoding="utf-8") as file:
            return sum(json.loads(line)["event"] == "step" for line in file.read().split("\n")[:-1])
    except OSError:
        return 0


workers = [start(rank) for rank in range(world)]
while steps() < 5 and all(worker.poll() is None for worker in workers):
    time.sleep(0.005)
os.kill(workers[killed].pid, signal.SIGKILL)
workers[killed].communicate()
if killed != 0 and os.environ.get("REPLACE") != "0":  # the loss of rank 0 ends the job
    workers[killed] = start(killed)
for rank, worker in enumerate(workers):
    output = worker.communicate(timeout=200)[0] if worker.returncode is None else ""
    print(f"process of rank {rank}\n{output}code {worker.returncode}", flush=True)
