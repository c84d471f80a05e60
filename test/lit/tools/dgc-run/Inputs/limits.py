"""limits.py PLAN PLAN2 MODEL [all]: runs a plan for one worker, one for two, and the compiler under limits of many sizes, in
the folder work. With `all` more sizes are tried."""

import os
import re
import resource
import subprocess
import sys

plan, plan2, model = (os.path.abspath(path) for path in sys.argv[1:4])
fine = len(sys.argv) > 4
data = os.path.abspath("right")
nobody = 54321  # a user without processes, as root has no limit on these


def run(command, kind, value, user=False):
    def child():
        if user and os.getuid() == 0:
            os.setgroups([])
            os.setgid(nobody)
            os.setuid(nobody)
        resource.setrlimit(kind, (value, value))

    job = subprocess.run(command, cwd="work", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, timeout=120, preexec_fn=child)
    return job.returncode, job.stdout


def check(name, command, kind, flag, values, good=(), loads=True, unit=1, user=False):
    """`good` are files that a job that ends well leaves; `loads`: False where the limit may keep the program from being
    loaded, too."""
    codes = []
    before = set(os.listdir("/dev/shm"))
    for value in values:
        code, output = run(command, kind, value * unit, user)
        what = "%s, ulimit %s %d: code %d\n%s" % (name, flag, value, code, output)
        assert code in (0, 7) or (not loads and code == 127), what
        assert "terminate" not in output and "Abort" not in output and "PLEASE submit a bug" not in output, what
        if code == 7:
            assert re.search(": (error: |cannot )", output) and "(ulimit %s) is %d" % (flag, value) in output, what
        left = set(os.listdir("work")) - set(good if code == 0 else ())
        assert not left, (what, left)
        assert set(os.listdir("/dev/shm")) <= before, what
        for path in good:
            if code == 0:
                os.remove("work/" + path)
        codes.append(code)
    assert 7 in codes, (name, flag, codes)
    print(name, flag, codes)


os.chmod("work", 0o777)
kB = 1024
one = ["dgc-run", plan, "--data", data, "--steps", "1", "--evaluate", "off", "--threads", "2", "--save", "w"]
two = ["dgc-run", plan2, "--data", data, "--steps", "1", "--evaluate", "off", "--threads", "1", "--save", "w"]
make = ["env", "TMPDIR=" + os.path.abspath("work"), "dgc-compile", model, "-o", "w"]
for name, job in ("one worker", one), ("two workers", two):
    check(name, job, resource.RLIMIT_FSIZE, "-f", range(0, 1000, 50) if fine else (0, 10, 400, 10000), ["w"], unit=kB)
    check(name, job, resource.RLIMIT_NOFILE, "-n", range(4, 80) if fine else (5, 8, 12, 32, 100), ["w"], loads=False)
    sizes = range(60, 1600, 20) if fine else (90, 130, 300, 600, 800, 1200)
    check(name, job, resource.RLIMIT_AS, "-v", [size * kB for size in sizes], ["w"], loads=False, unit=kB)
check("compiler", make, resource.RLIMIT_FSIZE, "-f", range(0, 100, 5) if fine else (0, 10, 17, 30, 1000), ["w"], unit=kB)
check("compiler", make, resource.RLIMIT_NOFILE, "-n", range(4, 40) if fine else (4, 5, 30), ["w"], loads=False)
sizes = range(400, 1600, 10) if fine else (370, 400, 410, 420, 2000)
check("compiler", make, resource.RLIMIT_AS, "-v", [size * kB for size in sizes], ["w"], loads=False, unit=kB)
if os.getuid() == 0 and run(["dgc-run", "--version"], resource.RLIMIT_NPROC, 1000, user=True)[0] == 0:
    counts = range(1, 80) if fine else (1, 3, 10, 20, 40, 200)
    check("one worker", one, resource.RLIMIT_NPROC, "-u", counts, ["w"], user=True)
    check("two workers", two, resource.RLIMIT_NPROC, "-u", counts, ["w"], user=True)
    code, output = run(make, resource.RLIMIT_NPROC, 1, user=True)  # it does without threads
    assert code == 0, output
