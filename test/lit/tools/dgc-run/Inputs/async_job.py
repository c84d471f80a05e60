"""Runs a job with asynchronous parameter servers and does something to its processes.

async_job.py WHAT COUNT -- COMMAND..   WHAT: server, chief, worker: kills a process of this kind COUNT times, once the job has
come further each time, which the folder of --checkpoint tells, or, without one, the log of --log-json.
Prints what it has done, and the code of the job."""
import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

what, count, command = sys.argv[1], int(sys.argv[2]), sys.argv[4:]
random.seed(int(os.environ.get("SEED", "1")))


def progress():
    """The steps in the log of the job."""
    log = command[command.index("--log-json") + 1]
    try:
        with open(log) as file:
            return sum('"step"' in line and '"event":"step"' in line.replace(" ", "") for line in file)
    except FileNotFoundError:
        return 0


def children(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path) as file:
                found += [int(each) for each in file.read().split()]
        except OSError:
            pass
    return found


def processes(job, kind):
    """The processes of the job of this kind."""
    found = []
    todo = [job.pid]
    while todo:
        pid = todo.pop()
        todo += children(pid)
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read().decode().replace("\0", " ")
        except OSError:
            continue
        rank = re.search(r"--rank (\d+)", line)
        # The process that watches over workers has the command line of the job.
        mine = "worker" if "--role worker" in line else "" if not rank else "server" if int(rank[1]) else "chief"
        if mine == kind:
            found.append(pid)
    return found


job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
done = 0
for _ in range(count):
    reached = time.monotonic() + 60
    while progress() <= done + 5 and job.poll() is None and time.monotonic() < reached:
        time.sleep(0.002)
    done = progress()
    time.sleep(random.random() * 0.05)
    while True:
        victims = processes(job, what)
        if victims or job.poll() is not None:
            break
        time.sleep(0.01)
    if job.poll() is not None:
        print("it came to its end too soon")
        break
    os.kill(random.choice(victims), signal.SIGKILL)
    print("killed a", what)
try:
    output = job.communicate(timeout=120)[0]
except subprocess.TimeoutExpired:
    job.kill()
    sys.exit("the job hangs:\n" + job.communicate()[0])
print(output)
print("code", job.returncode)
