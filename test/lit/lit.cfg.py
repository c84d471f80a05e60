"""How lit runs the tests in this folder.

RUN lines are bash. They find the tools of the build and FileCheck, not, split-file and the LLVM tools on
PATH. Substitutions beyond lit's own:
  %python     a Python 3 with numpy
  %examples   the examples/ folder
  %mnist      the folder with the MNIST data
  %source     the root of the repository
  %build      the folder of the build
Features for REQUIRES: avx2, avx512 (this CPU), ptxas (NVIDIA's assembler is on PATH), asan (an address-sanitizer
 build), browser (Chromium is on PATH, as of the packages chromium-headless-shell or chromium), netns, mountns, timens
 (namespaces of networks, of mounts and of clocks may be made here), tensorboard (DGC_TENSORBOARD is a folder with that package),
 mpirun (Open MPI), slurm (its programs and MUNGE; %slurm -- COMMAND runs a command in a cluster), bridge, tun (networks of several
 hosts may be made here), sandbox (Landlock and seccomp).

With DGC_OPT_ROUNDTRIP=1 in the environment every dgc-opt also verifies that what it parsed survives printing
and bytecode, and only the tests that run dgc-opt are taken.
"""

import ctypes
import os
import re
import shutil
import subprocess
import sys

import lit.formats
import lit.util

# Without a site configuration (lit run on the source tree) take the last build.
here = os.path.dirname(os.path.abspath(__file__))
root = getattr(config, "dgc_source_dir", os.path.dirname(os.path.dirname(here)))
bin_dir = getattr(config, "dgc_bin_dir", os.path.realpath(os.path.join(root, "build", "bin")))
llvm_dir = getattr(config, "llvm_tools_dir", "/usr/lib/llvm-22/bin")
sys.path.insert(0, here)
from only_dgc_opt import OnlyDgcOpt

roundtrip = os.environ.get("DGC_OPT_ROUNDTRIP") == "1"

config.name = "dgc (round trip)" if roundtrip else "dgc"
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt"]
config.test_format = (OnlyDgcOpt if roundtrip else lit.formats.ShTest)(execute_external=True)
config.test_source_root = here
config.test_exec_root = getattr(config, "dgc_exec_root", os.path.join(os.path.dirname(bin_dir), "test", "lit"))
if roundtrip:
    config.test_exec_root += "-roundtrip"

config.environment["PATH"] = os.pathsep.join([bin_dir, llvm_dir, os.environ.get("PATH", "")])
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# First in the list, so that it sees the RUN line as written and not a path that contains the word.
if roundtrip:
    config.substitutions.append((r"(?<![-\w./%])dgc-opt(?![-\w.])", "dgc-opt --verify-roundtrip"))
config.substitutions += [
    ("%python", "/usr/bin/python3"),
    ("%examples", os.path.join(root, "examples")),
    ("%mnist", os.path.join(root, "examples", "data", "mnist")),
    ("%source", root),
    ("%build", os.path.dirname(bin_dir)),
]

# A test that hangs is a failure. lit needs psutil to end its children.
if lit.util.killProcessAndChildrenIsSupported()[0]:
    lit_config.maxIndividualTestTime = 300


def cpu_flags():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        match = re.search(r"^flags\s*:(.*)$", f.read(), re.MULTILINE)
    return set(match.group(1).split()) if match else set()


flags = cpu_flags()
if {"avx2", "fma", "bmi2"} <= flags:
    config.available_features.add("avx2")
if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags:
    config.available_features.add("avx512")
if "address" in getattr(config, "dgc_sanitize", ""):
    config.available_features.add("asan")
if shutil.which("ptxas", path=config.environment["PATH"]):
    config.available_features.add("ptxas")
mpirun = shutil.which("mpirun")
if mpirun and "Open MPI" in subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout:
    config.available_features.add("mpirun")
    config.substitutions.append(("%mpirun", f"env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 {mpirun} --oversubscribe"))
if os.environ.get("DGC_TENSORBOARD"):
    config.available_features.add("tensorboard")
    config.substitutions.append(("%tensorboard", os.environ["DGC_TENSORBOARD"]))
browser = next(filter(None, map(shutil.which, ["chromium-headless-shell", "chromium"])), None)
if browser:
    config.available_features.add("browser")
    config.substitutions.append(("%browser", browser))
if subprocess.run(["unshare", "--time", "--monotonic", "1", "--fork", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
    config.available_features.add("timens")
with_daemons = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
if all(shutil.which(name, path=with_daemons) for name in ("munged", "slurmctld", "slurmd", "srun", "sbatch")):
    config.available_features.add("slurm")
    config.substitutions.append(("%slurm", f"env PATH=$PATH:/usr/sbin /usr/bin/python3 {here}/tools/dgc-run/Inputs/slurm.py"))
if subprocess.run(["unshare", "--net", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
    config.available_features.add("netns")
    if os.access("/dev/net/tun", os.R_OK | os.W_OK):
        config.available_features.add("tun")
    bridge = ["unshare", "--net", "ip", "link", "add", "bridge", "type", "bridge"]
    if subprocess.run(bridge, stderr=subprocess.DEVNULL, check=False).returncode == 0:
        config.available_features.add("bridge")
# Landlock and seccomp; the number of its system call is the same on all machines.
if ctypes.CDLL(None).syscall(444, None, 0, 1) > 0 and "Seccomp:" in open("/proc/self/status", encoding="ascii").read():
    if not getattr(config, "dgc_sanitize", ""):
        config.available_features.add("sandbox")
mounts = ["unshare", "--map-root-user", "--mount", "--pid", "--fork", "mount", "-t", "proc", "proc", "/proc"]
if subprocess.run(mounts, stderr=subprocess.DEVNULL, check=False).returncode == 0:
    config.available_features.add("mountns")
