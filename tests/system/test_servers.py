"""Tests that servers under load give the same replies with probes at every entry and return."""
import re, signal

from harness import *
from servers import *
from traced import Traced, released

def everything(*pids):
    return ",".join(f"pid{pid}:::entry,pid{pid}:::return" for pid in pids or ("$target",)) + " { @ = count(); }"

def fired(text, at_least):
    count = int((re.findall(r"^ +(\d+)$", text, re.M) or ["0"])[-1])
    if count < at_least:
        raise AssertionError(f"only {count} firings")

def untraced(kind):
    with kind().start() as server:
        came = server.work()
        server.end()
    return came

def attached(t, kind, at_least, *flags):
    """Puts load on a server before, during and after tracing."""
    want = untraced(kind)
    with kind().start() as server:
        equal(server.work(), want, "before")
        pids = server.pids()
        traced = Traced(t, everything(*pids), *pids, flags=flags)
        equal(server.work(), want, "while it is traced")
        fired(traced.finish(signal.SIGINT), at_least)
        for pid in pids:
            released(pid)
        equal(server.work(), want, "afterwards")
        server.end()

def from_its_start(t, kind, at_least, *flags):
    want = untraced(kind)
    with kind().start_by(t, everything(), *flags) as server:
        equal(server.work(), want, "while it is traced")
        server.end()
        with open(f"{server.folder}/firings") as text:
            fired(text.read(), at_least)

def redis_serves_the_same_with_every_module_probed(t):
    attached(t, Redis, 1000000)

def redis_serves_the_same_when_probed_from_its_start(t):
    from_its_start(t, Redis, 1000000)

def nginx_serves_the_same_with_every_module_of_all_its_processes_probed(t):
    attached(t, Nginx, 100000)

def nginx_serves_the_same_when_its_workers_are_followed(t):
    from_its_start(t, Nginx, 100000, "-x", "follow=fork")

def postgres_serves_the_same_with_every_module_probed(t):
    attached(t, Postgres, 10000)

def postgres_serves_the_same_when_its_clients_processes_are_followed(t):
    attached(t, Postgres, 1000000, "-x", "follow=fork")

TESTS = [
    redis_serves_the_same_with_every_module_probed, redis_serves_the_same_when_probed_from_its_start,
    nginx_serves_the_same_with_every_module_of_all_its_processes_probed,
    nginx_serves_the_same_when_its_workers_are_followed,
    postgres_serves_the_same_with_every_module_probed,
    postgres_serves_the_same_when_its_clients_processes_are_followed,
]

if __name__ == "__main__":
    main(TESTS)
