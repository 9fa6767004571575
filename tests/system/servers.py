"""Starts servers (redis, nginx, PostgreSQL), each in a new directory, and puts load on them."""
import glob, hashlib, os, re, shutil, signal, socket, subprocess, tempfile, urllib.request

from harness import *
from traced import good

def ran(*command, **more):
    """Runs a command and returns its output. Fails if the status is not 0 or stderr is not empty."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, **more)
    equal((done.returncode, done.stderr), (0, ""), " ".join(command))
    return done.stdout

def numbers_after(text, *names):
    return [int(re.search(rf"^{name}\D*(\d+)", text, re.M).group(1)) for name in names]

def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]

def as_user():
    """Returns the command prefix for a server that refuses to run as root. Returns an empty list if the tests do not
    run as root."""
    return as_nobody() if os.geteuid() == 0 else []

class Server:
    """A server in a new directory. work() puts load on the server, and returns the same results every time."""
    user = ()
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="dtrace-server-")
        if self.user:
            os.chown(self.folder, 65534, 65534)
        self.prepare()
        self.process = None

    def start(self):
        """Starts the server and waits until it serves requests."""
        self.process = subprocess.Popen([*self.user, *self.command()], cwd=self.folder,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        wait_until(self.is_ready, seconds=60, what="the server's start")
        return self

    def start_by(self, t, program, *flags):
        """Starts the server under dtrace (-c) in the server's directory. Waits until the server serves requests."""
        self.process = subprocess.Popen(
            [t.dtrace, "-qn", program, "-o", "firings", *flags, "-c", " ".join(self.command())],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True)
        wait_until(self.is_ready, seconds=60, what="the server's start")
        return self

    def end(self):
        """Asks the server to exit. Fails if it does not exit with 0 or if dtrace reported problems."""
        self.ask_to_end()
        errors = self.process.communicate(timeout=60)[1] or ""
        good(subprocess.CompletedProcess([], self.process.returncode, "", errors))

    def prepare(self):
        pass
    def pids(self):
        return [self.process.pid]

    def __enter__(self):
        return self
    def __exit__(self, *_):
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

class Redis(Server):
    """redis has several threads, and a child process that writes a dump. One of the threads blocks all signals."""
    def prepare(self):
        need("redis-server", "redis-benchmark", "redis-cli")
        with open(f"{self.folder}/conf", "w") as conf:
            conf.write('port 0\nunixsocket socket\nsave ""\nio-threads 2\nlogfile log\n'
                       "enable-debug-command yes\n")

    def command(self):
        return ["redis-server", "conf"]

    def is_ready(self):
        return os.path.exists(f"{self.folder}/socket")

    def cli(self, *words):
        return ran("redis-cli", "-s", f"{self.folder}/socket", *words).strip()

    def ask_to_end(self):
        self.cli("shutdown", "nosave")

    def work(self):
        self.cli("flushall")
        ran("redis-benchmark", "-s", f"{self.folder}/socket", "-n", "1000", "-c", "8", "-P", "4", "-q")
        self.cli("eval", "for i = 1, 10000 do redis.call('zadd', 'scores', i, "
                 "redis.sha1hex(tostring(i))) end return redis.call('zcard', 'scores')", "0")
        self.cli("bgsave")
        def saved():
            state = self.cli("info", "persistence")
            return "bgsave_in_progress:0" in state and "last_bgsave_status:ok" in state
        wait_until(saved, what="a saved dump")
        return self.cli("dbsize"), self.cli("debug", "digest")

class Nginx(Server):
    """nginx has a master and two workers."""
    PROGRAM = shutil.which("nginx") or "/usr/sbin/nginx"
    PAGES = {"small": b"what is served\n", "large": b"".join(b"line %d\n" % n for n in range(20000))}

    def prepare(self):
        need(self.PROGRAM, "ab", "pgrep")
        self.port = free_port()
        for name, text in self.PAGES.items():
            with open(f"{self.folder}/{name}", "wb") as page:
                page.write(text)
        with open(f"{self.folder}/conf", "w") as conf:
            conf.write(f"""
                daemon off; worker_processes 2; pid {self.folder}/pid; error_log {self.folder}/log;
                {"user root;" if os.geteuid() == 0 else ""}
                events {{ worker_connections 64; }}
                http {{
                    access_log {self.folder}/access; gzip on; gzip_types *; gzip_min_length 100;
                    client_body_temp_path {self.folder}/t1; proxy_temp_path {self.folder}/t2;
                    fastcgi_temp_path {self.folder}/t3; uwsgi_temp_path {self.folder}/t4;
                    scgi_temp_path {self.folder}/t5;
                    server {{ listen 127.0.0.1:{self.port}; root {self.folder}; }}
                }}""")

    def command(self):
        return [self.PROGRAM, "-c", f"{self.folder}/conf"]

    def is_ready(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def master(self):
        with open(f"{self.folder}/pid") as file:
            return int(file.read())

    def pids(self):
        return [self.master(), *(int(pid) for pid in ran("pgrep", "-P", str(self.master())).split())]

    def ask_to_end(self):
        os.kill(self.master(), signal.SIGQUIT)

    def page(self, name, **headers):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{name}", headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            body = answer.read()
        return len(body), hashlib.sha256(body).hexdigest()

    def load(self, name, *flags):
        # Without -q, ab prints its progress on stderr.
        done = subprocess.run(["ab", "-q", "-n", "1000", "-c", "8", *flags, f"http://127.0.0.1:{self.port}/{name}"],
                              capture_output=True, text=True, timeout=150)
        equal((done.returncode, done.stderr), (0, ""))
        return numbers_after(done.stdout, "Complete requests:", "Failed requests:", "HTML transferred:")

    def work(self):
        return (self.load("small"), self.load("small", "-k"), self.load("large"),
                self.load("nowhere"), self.page("small"), self.page("large"),
                self.page("large", **{"Accept-Encoding": "gzip"}))

class Postgres(Server):
    """PostgreSQL has one process for each client, and five other processes."""
    def prepare(self):
        need("psql", "pgbench", self.bin("postgres"))
        self.run("initdb", "-D", "data", "-A", "trust", "-U", "tester", "--no-sync", "--no-locale", "-E", "UTF8")

    @property
    def user(self):
        return as_user()

    def bin(self, name):
        found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
        return found[-1] if found else name

    def run(self, name, *words):
        # stderr may contain text, because pgbench prints its progress there.
        done = subprocess.run([*self.user, self.bin(name), *words], cwd=self.folder,
                              capture_output=True, text=True, timeout=150)
        equal(done.returncode, 0, done.stderr)
        return done.stdout

    def command(self):
        return [self.bin("postgres"), "-D", f"{self.folder}/data", "-c", "listen_addresses=",
                "-c", f"unix_socket_directories={self.folder}", "-c", "fsync=off"]

    def is_ready(self):
        status = f"{self.folder}/data/postmaster.pid"
        return os.path.exists(status) and "ready" in open(status).read()

    def ask_to_end(self):
        self.process.send_signal(signal.SIGINT)

    def pgbench(self, *flags):
        out = self.run("pgbench", "-h", self.folder, "-U", "tester", *flags, "postgres")
        return re.findall(r"number of (?:transactions actually|failed).*?: (\S+)", out)

    def sql(self, text):
        return self.run("psql", "-h", self.folder, "-U", "tester", "-XAtc", text, "postgres").strip()

    def work(self):
        self.pgbench("-i", "-q", "-s", "1")
        # With a fixed seed and only one client, pgbench uses the same random numbers in every run.
        return (self.pgbench("-S", "-c", "2", "-j", "2", "-t", "500"),
                self.pgbench("-c", "1", "-t", "200", "--random-seed=7"),
                self.pgbench("-n", "-S", "-C", "-c", "2", "-t", "2"),
                self.sql("select sum(abalance), md5(string_agg(aid || ':' || abalance, ',' order by aid)) "
                         "from pgbench_accounts"),
                self.sql("select sum(delta), count(*) from pgbench_history"))
