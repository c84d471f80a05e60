"""Starts the processes of a job with asynchronous parameter servers as a cluster manager does, by TF_CONFIG.

async_roles.py OTHER -- COMMAND..    COMMAND has a plan with two servers, and OTHER is another plan. Two workers: one by
TF_CONFIG, and one that joins by flags. Prints how each process has ended, and what becomes of workers that are not of the job."""
import json
import os
import socket
import subprocess
import sys


def free_ports():
    """Two ports in a row that nobody listens at: those of the coordinator and of the chief."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


other, command = sys.argv[1], sys.argv[3:]
port = free_ports()
address = f"127.0.0.1:{port}"
cluster = {"chief": [address], "worker": ["127.0.0.1:1", "127.0.0.1:2"], "ps": ["127.0.0.1:3", "127.0.0.1:4"]}


def start(kind, index, *more):
    environment = dict(os.environ, TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}}))
    return kind, subprocess.Popen(command + list(more), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True)


def turned_away(what, command):
    ran = subprocess.run(command + joins, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100)
    print(what, f"{ran.returncode}:", ran.stdout.strip().split("error: ")[-1])


joins = ["--role", "worker", "--coordinator", address]
jobs = [start("chief", 0), start("ps", 0), start("ps", 1)]
turned_away("a worker with other flags:", command + ["--last-batch", "weight"])
turned_away("a worker of another plan:", [other if each.endswith(".dgcx") else each for each in command])
jobs += [start("worker", 0)]
jobs += [("worker", subprocess.Popen(command + joins, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))]
outputs = [process.communicate(timeout=100)[0] for _, process in jobs]
names = {"ps": "server"}
print(*(f"{names.get(kind, kind)} {process.returncode}" for kind, process in jobs))
if any(process.returncode for _, process in jobs):
    print(*outputs, sep="\n")
