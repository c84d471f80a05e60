"""interrupt.py SIGNAL WHOM ARGS..: starts dgc-run, sends it (WHOM is job) or its worker of that rank the signal once
steps are in its log, and shows what it prints, its exit code, and what is left behind: processes, shared
memory, locks and temporary files."""

import os
import signal
import subprocess
import sys
import time


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as file:
        return [int(child) for child in file.read().split()]


def rank(pid):
    with open("/proc/%d/cmdline" % pid, encoding="utf-8") as file:
        words = file.read().split("\0")
    return words[words.index("--rank") + 1] if "--rank" in words else ""


name, whom, *arguments = sys.argv[1:]
before = set(os.listdir("/dev/shm"))
if os.path.exists("log"):
    os.remove("log")
job = subprocess.Popen(["dgc-run", *arguments, "--log-json", "log"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True)
deadline = time.monotonic() + 60
while time.monotonic() < deadline and not (os.path.exists("log") and os.path.getsize("log")):
    time.sleep(0.05)
workers = children(job.pid)
target = job.pid if whom == "job" else next(worker for worker in workers if rank(worker) == whom)
os.kill(target, getattr(signal, "SIG" + name))
sent = time.monotonic()
output = job.communicate(timeout=60)[0]
print(output, end="")
print("code", job.returncode)
print("soon" if time.monotonic() - sent < 5 else "late")
print("left", [worker for worker in workers if os.path.exists("/proc/%d" % worker)],
      sorted(set(os.listdir("/dev/shm")) - before) + [name for name in os.listdir(".") if ".dgc-" in name])
