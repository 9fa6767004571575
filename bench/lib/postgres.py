# SPDX-License-Identifier: MIT
"""Runs a PostgreSQL cluster and pgbench for the benchmarks."""
import glob, os, pwd, re, shutil, subprocess, tempfile
from table import Skip

class Postgres:
    """A cluster in a temporary directory. It runs as the user `postgres` if the benchmark runs as root."""
    def __init__(self):
        places = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not places or not shutil.which("pgbench"):
            raise Skip("no postgresql")
        self.bin, self.as_user = places[-1], []
        self.folder = tempfile.mkdtemp(prefix="bench-pg")
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.as_user = ["runuser", "-u", "postgres", "--"]
        self.call("initdb", "-D", f"{self.folder}/data", "-A", "trust", "-U", "postgres", "--no-sync")
        self.call("pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", f"{self.folder}/log", "-o",
                  f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off", "start")
        self.call("pgbench", "-h", self.folder, "-U", "postgres", "-i", "-s", "5", "-q", "postgres")
    def __enter__(self):
        return self
    def __exit__(self, *_):
        subprocess.run([*self.as_user, f"{self.bin}/pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate",
                        "stop"], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)
    def call(self, command, *words):
        done = subprocess.run([*self.as_user, f"{self.bin}/{command}", *words], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{command}: {done.stdout.strip()[-200:]}")
        return done.stdout
    def master(self):
        with open(f"{self.folder}/data/postmaster.pid") as file:
            return int(file.readline())
    def bench(self, seconds=3):
        """Starts pgbench. Returns its process, and the pids of the backends that existed before the start."""
        before = set(self.backends())
        running = subprocess.Popen(
            [*self.as_user, f"{self.bin}/pgbench", "-h", self.folder, "-U", "postgres", "-S", "-c", "2", "-j", "2",
             "-T", str(seconds), "-P", "1", "postgres"], cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        return running, before
    def backends(self):
        said = subprocess.run(["pgrep", "-P", str(self.master()), "-f", "SELECT|postgres postgres|idle"],
                              capture_output=True, text=True).stdout
        return [int(pid) for pid in said.split()]

def per_second(said):
    return [float(tps) for tps in re.findall(r"progress: .*?, ([\d.]+) tps", said)]
