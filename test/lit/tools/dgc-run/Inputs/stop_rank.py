"""Starts two workers as a cluster's manager does, and asks one of them to stop: both save, and end.

stop_rank.py RANK SIGNAL -- COMMAND..    prints what both printed, and their codes"""
import os
import signal
import socket
import subprocess
import sys
import time

rank, how, command = int(sys.argv[1]), getattr(signal, "SIG" + sys.argv[2]), sys.argv[4:]
folder = command[command.index("--checkpoint") + 1]
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    coordinator = "127.0.0.1:%d" % free.getsockname()[1]
workers = [
    subprocess.Popen(command + ["--rank", str(r), "--world-size", "2", "--coordinator", coordinator],
                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for r in range(2)
]
while not (os.path.isdir(folder) and any(n.startswith("step-") for n in os.listdir(folder))):
    time.sleep(0.01)
workers[rank].send_signal(how)
for number, worker in enumerate(workers):
    output = worker.communicate(timeout=100)[0]
    print("process", number)
    print(output, end="")
    print("code", worker.returncode)
