"""scrape_restart.py COMMAND..: kills a worker of a job that --max-restarts starts again; the metrics are at the same port then,
and tell of it. The command gets --metrics-port with a free port."""

import os
import re
import signal
import socket
import sys
import urllib.error

from watched_job import Job

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
job = Job([*sys.argv[1:], "--metrics-port", str(port)])
url = job.address("metrics")
assert url == f"http://127.0.0.1:{port}/metrics"


def metric(name):
    try:
        status, _, text = job.get(url)
    except (urllib.error.URLError, ConnectionError):
        return None  # between the two
    value = re.search(rf"^{name} (\S+)$", text, flags=re.MULTILINE)
    return float(value.group(1)) if status == 200 and value else None


def rank1():
    """The process of rank 1, a child of the launcher."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat, open(f"/proc/{pid}/cmdline", encoding="utf-8") as line:
                if int(stat.read().rpartition(")")[2].split()[1]) == job.process.pid and "--rank\0001\0" in line.read():
                    return int(pid)
        except OSError:
            pass
    return None


job.until(lambda: (metric("dgc_checkpoints_total") or 0) >= 1, "a checkpoint")
assert metric("dgc_restarts_total") == 0 and metric("dgc_workers_present") == 2
os.kill(rank1(), signal.SIGKILL)
job.until(lambda: metric("dgc_restarts_total") == 1 and (metric("dgc_steps_total") or 0) > 0, "the job to go on")
# Steps of the run are those of before, too; those of the process are not.
assert metric("dgc_step") > metric("dgc_steps_total") > 0
print("restarted, code", job.stop())
