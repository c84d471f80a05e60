"""Runs dgc-run, which starts local workers, and kills one of them COUNT times: one after the other, each time once there is
a new checkpoint.

kill_workers.py COUNT -- COMMAND.."""
import os
import signal
import subprocess
import sys
import time

count, command = int(sys.argv[1]), sys.argv[3:]
folder = command[command.index("--checkpoint") + 1]


def newest():
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return max((int(n[5:]) for n in names if n.startswith("step-")), default=0)


def workers(parent):
    """The processes that it has started."""
    with open(f"/proc/{parent}/task/{parent}/children") as children:
        return [int(pid) for pid in children.read().split()]


job = subprocess.Popen(command, stdout=sys.stdout, stderr=subprocess.STDOUT)
for kill in range(count):
    before = newest()
    while job.poll() is None and newest() == before:
        time.sleep(0.002)
    if job.poll() is None:
        os.kill(workers(job.pid)[kill % 2], signal.SIGKILL)
        time.sleep(0.3)  # until it is noticed
print("code", job.wait(timeout=200), flush=True)
