"""Runs dgc-run with checkpoints, ends it in some way again and again, and goes on until it is done.

resume.py HOW COUNT -- COMMAND..    HOW: KILL, TERM, USR1, INT: a signal to the job, at some moment, COUNT times.
Prints for each end its code, and at last the code of the run that came to its end."""
import os
import random
import signal
import subprocess
import sys
import time

how, count, command = getattr(signal, "SIG" + sys.argv[1]), int(sys.argv[2]), sys.argv[4:]
folder = command[command.index("--checkpoint") + 1]
random.seed(int(os.environ.get("SEED", "1")))


def steps():
    """Of the checkpoints that are complete."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(int(n[5:]) for n in names if n.startswith("step-") and os.path.exists(f"{folder}/{n}/manifest.json"))


ended = 0
while ended < count:
    before = steps()
    job = subprocess.Popen(command + ["--resume"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           preexec_fn=lambda: how != signal.SIGKILL and signal.signal(how, signal.SIG_DFL))
    # Once it trains: at its first checkpoint, and then at any moment.
    while job.poll() is None and steps() == before:
        time.sleep(0.005)
    time.sleep(random.random() * 0.03)
    if job.poll() is None:
        job.send_signal(how)
    output = job.communicate(timeout=100)[0]
    if job.returncode == 0:
        sys.exit("it came to its end too soon:\n" + output)
    if "warning" in output:
        sys.exit(output)
    print("code", job.returncode, "stopped" if "stopped before step" in output else "")
    ended += 1
last = subprocess.run(command + ["--resume"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200)
print(last.stdout if last.returncode else "", end="")
print("in the end", last.returncode, "resumed" if "resuming from " + folder in last.stdout else "")
