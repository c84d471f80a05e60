"""clocks.py SECONDS ARGS..: runs dgc-run with these arguments as two ranks, whose monotonic clocks differ by so many seconds."""

import socket
import subprocess
import sys

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    coordinator = "127.0.0.1:%d" % free.getsockname()[1]
ranks = []
for rank in range(2):
    clock = ["unshare", "--time", "--monotonic", sys.argv[1], "--fork", "--kill-child"] if rank == 1 else []
    ranks.append(subprocess.Popen([*clock, "dgc-run", *sys.argv[2:], "--rank", str(rank), "--world-size", "2",
                                   "--coordinator", coordinator]))
sys.exit(max(rank.wait(timeout=120) for rank in ranks))
