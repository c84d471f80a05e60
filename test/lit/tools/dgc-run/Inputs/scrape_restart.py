"""scrape_restart.py COMMAND..: kills workers of a job that --max-restarts replaces, rank 0 as well; the metrics are at the same port
then, and tell of it. The command gets --metrics-port with a free port."""

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


def process_of(rank):
    """A child of the launcher."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat, open(f"/proc/{pid}/cmdline", encoding="utf-8") as line:
                if int(stat.read().rpartition(")")[2].split()[1]) == job.process.pid and f"--rank\0{rank}\0" in line.read():
                    return int(pid)
        except OSError:
            pass
    return None


job.until(lambda: (metric("dgc_checkpoints_total") or 0) >= 1, "a checkpoint")
assert metric("dgc_restarts_total") == 0 and metric("dgc_workers_present") == 2
os.kill(process_of(1), signal.SIGKILL)
job.until(lambda: metric("dgc_restarts_total") == 1, "the job to go on without a new rank 0")
before = metric("dgc_steps_total")
job.until(lambda: metric("dgc_steps_total") > before > 0, "more steps of the same rank 0")
os.kill(process_of(0), signal.SIGKILL)
job.until(lambda: metric("dgc_restarts_total") == 2 and (metric("dgc_steps_total") or 0) > 0, "the job to go on with another rank 0")
# Steps of the run are those of before, too; those of the process are not.
assert metric("dgc_step") > metric("dgc_steps_total") > 0
print("replaced, code", job.stop())
