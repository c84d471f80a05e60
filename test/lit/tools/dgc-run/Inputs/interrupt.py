"""interrupt.py SIGNAL WHOM ARGS..: starts dgc-run, sends the signal once steps are in its log, and shows what it prints,
its exit code, and what is left behind: processes, shared memory, locks and temporary files. WHOM is job; the rank of
the worker that gets it; group, for the job and then all of its process group, as timeout does; or ignoring, for a job
that was started with the signal ignored, as nohup does."""

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


def dispose():
    """In the child: a shell may have started the test with signals ignored."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_IGN if whom == "ignoring" else signal.SIG_DFL)


name, whom, *arguments = sys.argv[1:]
number = getattr(signal, "SIG" + name)
before = set(os.listdir("/dev/shm"))
if os.path.exists("log"):
    os.remove("log")
job = subprocess.Popen(["dgc-run", *arguments, "--log-json", "log"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, start_new_session=whom == "group",
                       preexec_fn=dispose)
deadline = time.monotonic() + 60
while time.monotonic() < deadline and not (os.path.exists("log") and os.path.getsize("log")):
    time.sleep(0.05)
workers = children(job.pid)
target = next(worker for worker in workers if rank(worker) == whom) if whom.isdigit() else job.pid
os.kill(target, number)
if whom == "group":
    os.killpg(job.pid, number)
sent = time.monotonic()
output = job.communicate(timeout=60)[0]
print(output, end="")
print("code", job.returncode)
print("soon" if time.monotonic() - sent < 5 else "late")
print("left", [worker for worker in workers if os.path.exists("/proc/%d" % worker)],
      sorted(set(os.listdir("/dev/shm")) - before) + [name for name in os.listdir(".") if ".dgc-" in name])
