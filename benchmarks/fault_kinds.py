"""The kinds of faults that benchmarks/faults causes: what is done to a job, and what has to become of it."""

import collections
import ctypes
import errno
import os
import re
import resource
import signal
import socket
import struct
import threading
import time

STEPS = 800  # of a job that goes on
FOREVER = 1000000
EXIT_NOW = signal.SIGRTMIN + 7  # see faults_preload.c
DROP_ALL = struct.pack("HBBI", 0x06, 0, 0, 0)  # a filter of packets: return 0

# How a job is run; `launched`: one dgc-run starts all workers, otherwise each is started alone, with --rank.
Shape = collections.namedtuple("Shape", "workers strategy transport launched checkpoint")

DOCUMENTED = frozenset({2, 3, 4, 5, 6, 7, 8, 9, 75, 130})  # docs/exit-codes.md, without 0 and the internal error

# goes_on: whether the job has to; None: either. names: what every other worker has to say. culprits: ranks that may be accused.
# victim_ends: the ranks at fault report an error of their own as well. any_rank: what else is said of ranks is not looked at, as
# workers give up waiting for others that have done nothing wrong. codes: of the processes, where the job ends. stop: ends the fault.
# also: further checks. untimed: the job ends when its work is done, not by the fault.
Result = collections.namedtuple("Result", "what when goes_on culprits names victim_ends stopped steps any_rank codes stop also untimed",
                                defaults=[False, frozenset(), "", False, False, STEPS, False, DOCUMENTED, None, None, False])
Kind = collections.namedtuple("Kind", "name weight cause shape preload idle")
KINDS = []


def shape_of(transports=("shared-memory", "tcp"), checkpoint=None, launched=None):
    def draw(choice, options):
        workers = options.workers or choice.choice([2, 2, 3, 4])
        strategy = choice.choice(["replicated", "zero3"])
        transport = choice.choice(transports)
        together = bool(options.command) or (choice.random() < 0.6 if launched is None else launched)
        saves = not options.command and (choice.random() < 0.5 if checkpoint is None else checkpoint)
        return Shape(workers, strategy, transport, together, saves)
    return draw


def kind(name, weight, preload=False, idle=False, **shape):
    def add(cause):
        KINDS.append(Kind(name, weight, cause, shape_of(**shape), preload, idle))
        return cause
    return add


def train(job, choice, steps=FOREVER, flags=(), preload=False):
    """Starts a job, and waits for a random moment while it trains; whether it still does."""
    job.start(steps, flags, preload)
    if not job.own_command:
        job.until_it_trains()
    time.sleep(choice.uniform(0, job.bench.options.within))
    return not job.ended()


def join(job, choice, preload=False):
    """The same while the workers come together."""
    job.start(FOREVER, ["--join-timeout", "8"], preload)
    time.sleep(choice.uniform(0, job.bench.options.within))
    return not job.ended()


def victim_of(job, choice):
    rank = choice.randrange(job.shape.workers)
    return rank, job.workers[rank]


def named(*ranks):
    """That a message names one of these; of rank 0 it may say what is at its address."""
    return "|".join([rf"rank {rank}\b" for rank in ranks] + ["coordinator"] * (0 in ranks))


def kill(job, choice, number=None):
    rank, pid = victim_of(job, choice)
    number = number or choice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
    what = "exit code 0" if number == EXIT_NOW else signal.Signals(number).name
    when = time.monotonic()
    os.kill(pid, number)
    return Result(f"rank {rank}: {what}", when, culprits={rank}, names=named(rank))


@kind("killed", 250)
def killed(job, choice):
    """a worker gets SIGKILL, SIGSEGV, SIGABRT or SIGBUS while it trains"""
    return kill(job, choice) if train(job, choice) else None


@kind("killed while joining", 90)
def killed_while_joining(job, choice):
    """the same while the workers come together"""
    return kill(job, choice)._replace(any_rank=True) if join(job, choice) else None


@kind("launcher killed", 30, launched=True)
def launcher_killed(job, choice):
    """SIGKILL to the dgc-run that has started the workers: they have to end as well"""
    if not train(job, choice):
        return None
    when = time.monotonic()
    job.launcher.kill()
    job.launcher.wait()
    return Result("the launcher: SIGKILL", when, culprits=set(job.workers), codes={-signal.SIGKILL})


@kind("exit 0", 90, preload=True)
def exits(job, choice):
    """a worker ends with exit code 0 while it trains"""
    return kill(job, choice, EXIT_NOW) if train(job, choice, preload=True) else None


@kind("exit 0 while joining", 40, preload=True)
def exits_while_joining(job, choice):
    """the same while the workers come together"""
    return kill(job, choice, EXIT_NOW)._replace(any_rank=True) if join(job, choice, preload=True) else None


@kind("stopped", 50, idle=True)
def stopped(job, choice):
    """SIGSTOP to a worker for good: noticed after 10 s of silence"""
    if not train(job, choice):
        return None
    rank, pid = victim_of(job, choice)
    when = time.monotonic()
    os.kill(pid, signal.SIGSTOP)
    return Result(f"rank {rank}: SIGSTOP", when, culprits={rank}, names=named(rank), stopped=True)


@kind("stopped for a moment", 120)
def stopped_for_a_moment(job, choice):
    """SIGSTOP, and SIGCONT up to 3 s later: goes on"""
    if not train(job, choice, STEPS):
        return None
    rank, pid = victim_of(job, choice)
    when, pause = time.monotonic(), choice.choice([choice.uniform(0.01, 0.5), choice.uniform(0.5, 3)])
    os.kill(pid, signal.SIGSTOP)
    time.sleep(pause)
    os.kill(pid, signal.SIGCONT)
    return Result(f"rank {rank}: SIGSTOP for {pause:.2f} s", when, goes_on=True)


def slow_down(pid):
    """A process is stopped for three quarters of the time from now on, until the function is called that this returns."""
    done = threading.Event()

    def slow():
        try:
            while not done.is_set():
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.015)
                os.kill(pid, signal.SIGCONT)
                time.sleep(0.005)
        except ProcessLookupError:
            pass
    thread = threading.Thread(target=slow)
    thread.start()

    def stop():
        done.set()
        thread.join()
    return stop


@kind("slow", 30, idle=True)
def slow(job, choice):
    """a worker is stopped for 75 % of the time, until the end: goes on"""
    if not train(job, choice, STEPS):
        return None
    rank, pid = victim_of(job, choice)
    return Result(f"rank {rank}", time.monotonic(), goes_on=True, stop=slow_down(pid))


@kind("straggler", 4, idle=True, checkpoint=True, launched=True)
def straggler(job, choice):
    """the same for 80 s: rank 0 names it"""
    if not train(job, choice):
        return None
    rank, pid = victim_of(job, choice)
    when, stop = time.monotonic(), slow_down(pid)
    deadline = when + 100
    pattern = rf"rank {rank}\b.* is slower than the others"
    while not re.search(pattern, job.texts()) and time.monotonic() < deadline and not job.ended():
        time.sleep(0.2)
    stop()
    took = time.monotonic() - when
    said = re.search(pattern, job.texts())
    job.launcher.send_signal(signal.SIGUSR1)
    return Result(f"rank {rank}, named after {took:.0f} s", when, victim_ends=True, codes={75}, untimed=True,
                  also=lambda: [] if said else ["the straggler is not named"])


def connection_of(job, choice, to_coordinator):
    ends = [end for end in job.connections() if (end[2] is None) == to_coordinator]
    rank, fd, other = choice.choice(ends)
    return rank, other, job.socket_of(rank, fd)


@kind("data connection reset", 60, transports=["tcp"])
def data_reset(job, choice):
    """the TCP connection of two workers for data breaks"""
    if not train(job, choice):
        return None
    rank, other, connection = connection_of(job, choice, False)
    when = time.monotonic()
    disconnect(connection)
    return Result(f"ranks {rank} and {other}", when, culprits={rank, other}, victim_ends=True, names=named(rank, other))


@kind("control connection reset", 40)
def control_reset(job, choice):
    """the TCP connection of a worker to the coordinator breaks"""
    if not train(job, choice, STEPS):
        return None
    rank, _, connection = connection_of(job, choice, True)
    when = time.monotonic()
    disconnect(connection)
    return Result(f"rank {rank}", when, goes_on=None, culprits={rank, 0}, victim_ends=True, names=f"{named(rank, 0)}|launcher")


def disconnect(connection):
    """Resets a connection, as connect() to AF_UNSPEC does."""
    with connection:
        ctypes.CDLL(None).connect(connection.fileno(), struct.pack("H14x", socket.AF_UNSPEC), 16)


def silence(connection):
    """Drops all packets that come for a socket; the function that this returns ends that."""
    program = ctypes.create_string_buffer(DROP_ALL)
    connection.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HxxxxxxP", 1, ctypes.addressof(program)))  # SO_ATTACH_FILTER

    def heal():
        try:
            connection.setsockopt(socket.SOL_SOCKET, 27, 0)  # SO_DETACH_FILTER
        finally:
            connection.close()
    return heal


@kind("data connection cut", 20, idle=True, transports=["tcp"])
def data_cut(job, choice):
    """no packet of one worker reaches another any more: noticed after --stall-timeout, here 4 s"""
    if not train(job, choice, flags=["--stall-timeout", "4"]):
        return None
    rank, other, connection = connection_of(job, choice, False)
    when = time.monotonic()
    return Result(f"from rank {other} to rank {rank}", when, culprits={rank, other}, victim_ends=True, names=named(rank, other),
                  any_rank=True, stop=silence(connection))


@kind("control connection cut", 20, idle=True)
def control_cut(job, choice):
    """no packet of the coordinator reaches a worker any more: noticed after 10 s of silence"""
    if not train(job, choice):
        return None
    rank, _, connection = connection_of(job, choice, True)
    when = time.monotonic()
    return Result(f"to rank {rank}", when, culprits={rank}, names=f"{named(rank, 0)}|launcher", any_rank=True,
                  stop=silence(connection))


@kind("connection cut for a moment", 60)
def cut_for_a_moment(job, choice):
    """no packet reaches a worker over one of its connections, for up to 3 s: goes on"""
    if not train(job, choice, STEPS):
        return None
    to_coordinator = job.shape.transport != "tcp" or choice.random() < 0.3
    rank, other, connection = connection_of(job, choice, to_coordinator)
    when, pause = time.monotonic(), choice.uniform(0.1, 3)
    heal = silence(connection)
    time.sleep(pause)
    heal()
    return Result(f"to rank {rank} from {'the coordinator' if other is None else f'rank {other}'}, {pause:.2f} s", when, goes_on=True)


def disk_result(job, what, when, ranks, patterns, heal=None):
    """A checkpoint that cannot be written is a warning that says why, and the job goes on; at the end it is an error of all workers, the
    first of which to end is said to have failed: `patterns` name the file, and the rank where they can."""
    def also():
        text = job.texts()
        if heal:
            heal()
        return [f"nobody says '{pattern}'" for pattern in patterns if not re.search(f"(error|warning): .*{pattern}", text)]
    return Result(what, when, goes_on=None, culprits=ranks, victim_ends=True, names=f"{named(*ranks)}|checkpoint|cannot write", also=also,
                  any_rank=True, untimed=True)


@kind("disk full or failing", 70, preload=True, checkpoint=True)
def disk_fails(job, choice):
    """writes and fsync of a worker (or all) in the folder of the checkpoints fail (ENOSPC, EIO, EDQUOT, EROFS): it says so and goes on"""
    if not train(job, choice, STEPS, preload=True):
        return None
    rank, pid = victim_of(job, choice)
    everyone = choice.random() < 0.3
    number = choice.choice([errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS])
    when = time.monotonic()
    job.set_control(disk=(0 if everyone else pid, number))
    who = "rank \\d" if everyone else f"rank {rank}"
    ranks = set(job.workers) if everyone else {rank}
    what = f"{'all' if everyone else f'rank {rank}'}: {errno.errorcode[number]}"
    return disk_result(job, what, when, ranks, [f"{who}\\b.*checkpoints/.*{os.strerror(number)}"], job.set_control)


@kind("size of files limited", 30, checkpoint=True)
def file_size_limited(job, choice):
    """RLIMIT_FSIZE of a worker becomes less than a checkpoint needs: it says so and goes on"""
    if not train(job, choice, STEPS):
        return None
    rank, pid = victim_of(job, choice)
    limit, when = choice.randrange(60000, 150000), time.monotonic()
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, limit))
    return disk_result(job, f"rank {rank}: {limit} bytes", when, {rank}, [r"ulimit -f"])


@kind("checkpoint folder vanishes", 30, checkpoint=True)
def folder_vanishes(job, choice):
    """the folder of the checkpoints is removed, and a file is there instead: it says so and goes on"""
    if not train(job, choice, STEPS):
        return None
    when = time.monotonic()
    before = job.checkpoints + "-before"
    os.rename(job.checkpoints, before)
    with open(job.checkpoints, "w", encoding="ascii"):
        pass

    def heal():
        os.remove(job.checkpoints)
        os.rename(before, job.checkpoints)
    return disk_result(job, "a file is there", when, set(job.workers), ["checkpoints.*Not a directory"], heal)


@kind("clock jumps", 90, preload=True)
def clock_jumps(job, choice):
    """the wall clock of a worker (or all) jumps by minutes to years, forth or back, one or more times: goes on"""
    if not train(job, choice, STEPS, preload=True):
        return None
    rank, pid = victim_of(job, choice)
    everyone, when = choice.random() < 0.4, time.monotonic()
    jumps = [choice.choice([-1, 1]) * choice.choice([61, 3600, 86400, 400 * 86400, 20 * 365 * 86400])
             for _ in range(choice.randrange(1, 4))]
    for seconds in jumps:
        job.set_control(clock=(0 if everyone else pid, seconds * 10**9))
        time.sleep(choice.uniform(0, 0.5))
    return Result(f"{'all' if everyone else f'rank {rank}'}: {jumps} s", when, goes_on=True)


@kind("memory limited", 40, checkpoint=True)
def memory_limited(job, choice):
    """RLIMIT_AS of a worker becomes what it has, and up to 300 kB more: goes on, or ends with an error"""
    if not train(job, choice, STEPS):
        return None
    rank, pid = victim_of(job, choice)
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as f:
            limit = int(f.read().split()[0]) * 4096 + choice.randrange(0, 300000)
        when = time.monotonic()
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))
    except (IndexError, OSError):
        return None
    return Result(f"rank {rank}: {limit >> 20} MiB", when, goes_on=None, culprits={rank}, names=named(rank))


@kind("memory limited from the start", 40, launched=False)
def memory_limited_from_the_start(job, choice):
    """RLIMIT_AS of a worker is 40 to 1200 MB: goes on, or ends with an error"""
    rank, limit, when = choice.randrange(job.shape.workers), choice.randrange(40, 1200) << 20, time.monotonic()
    job.start(STEPS, ["--join-timeout", "8"], limit=(rank, limit))
    return Result(f"rank {rank}: {limit >> 20} MiB", when, goes_on=None, culprits={rank}, names=named(rank))


