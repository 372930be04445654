"""Schedulers on this machine in a private network, with nothing but the loopback interface.

All processes are in a process namespace of their own, whose end they do not survive.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ADDRESS = "192.168.77.1"
"""On the loopback interface. SLURM finds no address at all where there is only 127.0.0.1."""

FIRST = f"""
import os, subprocess, sys, threading
hosts = sys.argv[1]
with open(hosts, "w") as file:
    file.write("127.0.0.1 localhost\\n{ADDRESS} node0\\n")
for command in (
    "hostname node0", "ip link set lo up", "ip address add {ADDRESS}/32 dev lo",
    f"mount --bind {{hosts}} /etc/hosts",
):
    subprocess.run(command.split(), check=True)
print("ready", flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
import time
while True:
    try:
        os.wait()  # as the first process, of those whose parents are gone
    except ChildProcessError:
        time.sleep(0.05)
"""


def until(true: Callable[[], object], seconds: float, what: str) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"{what}: not within {seconds:g} s"
        time.sleep(0.1)


class PrivateNetwork:
    """A private network; ``enter`` gives a command that runs another one in it."""

    def __init__(self, process: subprocess.Popen[str], first: int) -> None:
        self._process, self._first = process, first

    def enter(self, *command: str | Path) -> list[str]:
        spaces = ["--net", "--mount", "--uts", "--pid"]
        return ["nsenter", f"--target={self._first}", *spaces, "--", *map(str, command)]

    def run(self, *command: str | Path) -> str:
        done = subprocess.run(self.enter(*command), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def processes(self, *words: str) -> list[int]:
        """The processes in it whose command has all these words in it, by their numbers there."""
        rows = self.run("ps", "-ww", "-eo", "pid,stat,args").splitlines()[1:]
        return [
            int(row.split()[0])
            for row in rows
            if all(word in row for word in words) and not row.split()[1].startswith("Z")
        ]


def why_not(*programs: str) -> str | None:
    """Why there can be no private network with these programs here, if so."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "only root can make network namespaces, on Linux"
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    needed = ("unshare", "nsenter", "ip", "mount", *programs)
    if missing := [each for each in needed if shutil.which(each, path=path) is None]:
        return f"not installed: {', '.join(missing)}"
    spaces = ["--net", "--mount", "--uts", "--pid", "--fork", "--mount-proc"]
    if subprocess.run(["unshare", *spaces, "true"], capture_output=True, check=False).returncode:
        return "no namespaces can be made here"
    return None


@contextmanager
def private_network(directory: Path) -> Iterator[PrivateNetwork]:
    """A private network. Whatever runs in it ends with the block."""
    spaces = ["--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command = ["unshare", *spaces, sys.executable, "-c", FIRST, str(directory / "hosts")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, **pipes)
    try:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        yield PrivateNetwork(process, int(children))
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                pipe.close()


SETTINGS = """\
ClusterName=omnimeter
SlurmctldHost=node0({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge.sock
CredType=cred/munge
SlurmctldPort=6817
SlurmdPort=6818
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
ReturnToService=2
KillWait=10
NodeName=node0 NodeAddr={address} CPUs={processors} RealMemory=2000 State=UNKNOWN
PartitionName=main Nodes=node0 Default=YES MaxTime=INFINITE State=UP
"""


@contextmanager
def slurm(network: PrivateNetwork, directory: Path) -> Iterator[Path]:
    """SLURM with one node; gives a folder with its commands, to be put on the path."""
    processors = os.cpu_count() or 1
    settings = SETTINGS.format(address=ADDRESS, directory=directory, processors=processors)
    (directory / "slurm.conf").write_text(settings)
    for name in ("state", "spool", "bin"):
        (directory / name).mkdir()
    key = directory / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(1024))
    files = {"socket": "munge.sock", "log-file": "munged.log", "pid-file": "munged.pid"}
    files |= {"key-file": key.name, "seed-file": "munge.seed"}
    network.run(
        "munged", "--force", *(f"--{name}={directory / file}" for name, file in files.items())
    )
    known = f"SLURM_CONF={directory}/slurm.conf"
    clean = ["env", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", known]
    for name in ("sbatch", "scancel", "scontrol", "sinfo", "squeue"):
        wrapper = directory / "bin" / name
        entered: Sequence[str] = network.enter(*clean, name)
        wrapper.write_text(f'#!/bin/sh\nexec {" ".join(entered)} "$@"\n')
        wrapper.chmod(0o755)
    network.run(*clean, "slurmctld")
    network.run(*clean, "slurmd", "-N", "node0")
    sinfo = directory / "bin" / "sinfo"

    def idle() -> bool:
        told = subprocess.run([sinfo, "-h", "-o", "%T"], capture_output=True, check=False)
        return told.stdout.strip() == b"idle"

    until(idle, 60, "an idle node")
    yield directory / "bin"
