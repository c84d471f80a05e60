"""slurm.py [--nodes N] [--ports FIRST-LAST] -- COMMAND..: runs a command in a cluster of Slurm of its own on this machine,
without systemd and cgroups, and ends with its exit code; then nothing of the cluster is left. SLURM_CONF leads the commands of
Slurm to it. With --ports it reserves some of these for each step.

With one node the daemons run as the current user at ports that are free. With several, each node has namespaces of its own
(network, processes, host name), n1 n2 .. at 10.77.0.1 10.77.0.2 .., so that it is another host to dgc-run; that takes the
right to make them.

The cluster has two partitions: p, and urgent, whose jobs preempt those of p, which are queued again. A node has 4 CPUs, whatever the machine has."""

import argparse
import ctypes
import os
import pwd
import signal
import socket
import subprocess
import sys
import tempfile
import time

PR_SET_PDEATHSIG = 1
NET = "10.77.0."

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={controller}({address})
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={own}/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation={folder}/state
SlurmdSpoolDir={own}/spool
SlurmctldPidFile={own}/slurmctld.pid
SlurmdPidFile={own}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
ReturnToService=2
KillWait=20
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName={nodes} CPUs=4 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES State=UP PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=ALL State=UP PriorityTier=2
"""


def with_parent():
    """In the child: it ends with the process that has started it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Cluster:
    def __init__(self, nodes, folder, ports=None):
        self.nodes, self.folder, self.ports, self.daemons = nodes, folder, ports, []
        self.many = len(nodes) > 1
        self.own = "/run" if self.many else folder  # a folder that each host has of its own
        self.user = pwd.getpwuid(os.getuid()).pw_name

    def configure(self):
        os.makedirs(self.folder + "/state", exist_ok=True)
        free = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        ports = [s.getsockname()[1] for s in free]
        for s in free:
            s.close()
        with open(self.folder + "/slurm.conf", "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(
                controller="control" if self.many else self.nodes[0], address=NET + "254" if self.many else "127.0.0.1",
                ports=ports, user=self.user, own=self.own, folder=self.folder,
                nodes="n[1-%d]" % len(self.nodes) if self.many else "%s NodeAddr=127.0.0.1" % self.nodes[0]))
            if self.ports:
                file.write("MpiParams=ports=%s\n" % self.ports)
        # Told, so that slurmd does not look for the file systems of cgroups, which a container may not have.
        with open(self.folder + "/cgroup.conf", "w", encoding="utf-8") as file:
            file.write("CgroupPlugin=cgroup/v1\n")
        with open(self.folder + "/key", "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(os.urandom(128))
        os.environ["SLURM_CONF"] = self.folder + "/slurm.conf"

    def begin(self, *command):
        with open("%s/%s.log" % (self.folder, os.path.basename(command[0])), "ab") as log:
            self.daemons.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                 preexec_fn=with_parent))

    def munged(self):
        munge = self.own + "/munge"
        os.makedirs(munge, exist_ok=True)
        os.chmod(munge, 0o755)
        os.makedirs(self.own + "/spool", exist_ok=True)
        # --force: the folders above may be such as others can write.
        self.begin("munged", "--force", "--foreground", "--key-file=" + self.folder + "/key", "--socket=" + munge + "/socket",
                   *("--%s-file=%s/%s" % (what, munge, what) for what in ("log", "pid", "seed")))
        self.until(lambda: os.path.exists(munge + "/socket"), "munged made no socket")

    def until(self, condition, message):
        deadline = time.monotonic() + 120
        while not condition():
            if time.monotonic() > deadline or any(daemon.poll() is not None for daemon in self.daemons):
                for name in sorted(os.listdir(self.folder)):
                    if name.endswith(".log"):
                        with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as log:
                            print("== %s\n%s" % (name, log.read()[-2000:]), file=sys.stderr)
                sys.exit("slurm.py: " + message)
            time.sleep(0.05)

    def are_idle(self):
        states = subprocess.run(["sinfo", "--noheader", "--Node", "--partition=p", "--format=%T"], text=True,
                                capture_output=True, check=False).stdout.split()
        return states == ["idle"] * len(self.nodes)

    def network(self):
        """Hosts that a bridge connects, for this process and its children alone."""
        def ip(*words):
            subprocess.run(["ip", *words], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
        os.mkdir("/run/netns")
        ip("link", "set", "lo", "up")
        ip("link", "add", "bridge", "type", "bridge")
        ip("address", "add", NET + "254/24", "dev", "bridge")
        ip("link", "set", "bridge", "up")
        hosts = "127.0.0.1 localhost\n%s254 control\n" % NET
        for number, node in enumerate(self.nodes, 1):
            ip("netns", "add", node)
            ip("link", "add", "to-" + node, "type", "veth", "peer", "name", "eth0", "netns", node)
            ip("link", "set", "to-" + node, "master", "bridge", "up")
            ip("-n", node, "address", "add", "%s%d/24" % (NET, number), "dev", "eth0")
            ip("-n", node, "link", "set", "eth0", "up")
            ip("-n", node, "link", "set", "lo", "up")
            hosts += "%s%d %s\n" % (NET, number, node)
        with open(self.folder + "/hosts", "w", encoding="utf-8") as file:
            file.write(hosts)
        subprocess.run(["mount", "--bind", self.folder + "/hosts", "/etc/hosts"], check=True)
        socket.sethostname("control")

    def start(self):
        if self.many:
            self.network()
        self.configure()
        self.munged()
        self.begin("slurmctld", "-D")
        for node in self.nodes:
            if self.many:
                self.begin("nsenter", "--net=/run/netns/" + node, "unshare", "--uts", "--mount", "--pid", "--fork",
                           "--kill-child", "--mount-proc", sys.executable, __file__, "--host", node, self.folder)
            else:
                self.begin("slurmd", "-D", "-N", node)
        self.until(self.are_idle, "the nodes did not come up")

    def stop(self):
        subprocess.run(["scancel", "--full", "--user=" + self.user], check=False)
        self.until(lambda: not subprocess.run(["squeue", "--noheader"], capture_output=True, check=False).stdout,
                   "jobs did not end")
        for daemon in reversed(self.daemons):
            daemon.kill() if self.many else daemon.terminate() # the namespaces end with their first process
        for daemon in self.daemons:
            daemon.wait(timeout=30)


def host(name, folder):
    """One node of several: its daemons, in its namespaces."""
    cluster = Cluster(["", ""], folder)
    socket.sethostname(name)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    os.environ["SLURM_CONF"] = folder + "/slurm.conf"
    cluster.munged()
    cluster.begin("slurmd", "-D")
    sys.exit(cluster.daemons[-1].wait())


def main():
    if sys.argv[1] == "--host":
        host(*sys.argv[2:])
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--ports")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    count = arguments.nodes
    if count > 1 and "SLURM_TEST_HOSTS" not in os.environ:
        user = [] if os.getuid() == 0 else ["--map-root-user"]
        sys.exit(subprocess.run(["unshare", *user, "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child",
                                 "--mount-proc", sys.executable, *sys.argv],
                                env=dict(os.environ, SLURM_TEST_HOSTS="1"), preexec_fn=with_parent, check=False).returncode)
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder: # the path of a socket has to be short
        os.chmod(folder, 0o755)
        cluster = Cluster(["n%d" % n for n in range(1, count + 1)] if count > 1 else [socket.gethostname().split(".")[0]], folder, arguments.ports)
        cluster.start()
        code = subprocess.run(arguments.command, check=False).returncode
        cluster.stop()
    sys.exit(code)


main()
