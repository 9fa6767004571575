#!/usr/bin/env python3
"""Tests C headers with -C. They must compile quickly. Their declarations must have the sizes, offsets and values
that the C compiler computes. --long tests every installed header."""
import concurrent.futures, pathlib, subprocess, time

from harness import *

HEADERS = """
aio.h arpa/inet.h complex.h ctype.h dirent.h elf.h errno.h fcntl.h link.h locale.h math.h
mqueue.h netdb.h net/if.h netinet/ip.h netinet/tcp.h poll.h pthread.h pwd.h regex.h sched.h
semaphore.h setjmp.h signal.h spawn.h stdarg.h stdatomic.h stddef.h stdint.h stdio.h stdlib.h
string.h sys/epoll.h sys/ioctl.h sys/mman.h sys/procfs.h sys/ptrace.h sys/resource.h
sys/socket.h sys/stat.h sys/ucontext.h sys/user.h termios.h threads.h time.h ucontext.h unistd.h
utmpx.h wchar.h asm/siginfo.h linux/bpf.h linux/ethtool.h linux/fs.h linux/if_arcnet.h
linux/io_uring.h linux/netlink.h linux/perf_event.h linux/rpl.h linux/rtnetlink.h
""".split()
# For each group of headers, the types and members whose layout is tested. The groups cannot be included together.
LAYOUTS = {
    "sys/stat.h sys/epoll.h sys/socket.h netinet/in.h netinet/ip.h signal.h termios.h utmpx.h"
    " ucontext.h pthread.h semaphore.h time.h dirent.h sys/resource.h sys/un.h poll.h link.h"
    " sys/user.h sys/procfs.h regex.h setjmp.h stddef.h stdio.h wchar.h sys/utsname.h elf.h": {
        "struct stat": "st_ino st_mode st_size st_mtim st_blocks",
        "struct epoll_event": "events data",
        "struct sockaddr_in": "sin_port sin_addr sin_zero",
        "struct sockaddr_in6": "sin6_flowinfo sin6_addr sin6_scope_id",
        "struct sockaddr_storage": "ss_family", "struct sockaddr_un": "sun_path",
        "struct msghdr": "msg_iov msg_flags", "struct cmsghdr": "cmsg_type",
        "struct iphdr": "tot_len daddr", "siginfo_t": "si_errno _sifields",
        "struct sigaction": "sa_mask sa_flags", "stack_t": "ss_size", "sigset_t": "",
        "struct termios": "c_line c_cc c_ospeed", "struct utmpx": "ut_user ut_exit ut_tv ut_addr_v6",
        "ucontext_t": "uc_stack uc_mcontext uc_sigmask __ssp", "mcontext_t": "",
        "struct _libc_fpstate": "", "pthread_mutex_t": "", "pthread_cond_t": "",
        "pthread_attr_t": "", "pthread_rwlock_t": "", "sem_t": "", "struct tm": "tm_gmtoff tm_zone",
        "struct timespec": "tv_nsec", "struct dirent": "d_type d_name",
        "struct rusage": "ru_maxrss ru_nivcsw", "struct pollfd": "revents",
        "struct link_map": "l_ld l_prev",
        "struct user_regs_struct": "", "prstatus_t": "pr_sigpend pr_reg pr_fpvalid",
        "regex_t": "re_nsub", "jmp_buf": "", "max_align_t": "", "FILE": "_lock _unused2",
        "mbstate_t": "", "struct utsname": "machine", "Elf64_Sym": "st_value", "Elf64_auxv_t": "a_un",
    },
    "linux/bpf.h linux/io_uring.h linux/if_arcnet.h linux/perf_event.h linux/rtnetlink.h"
    " linux/fiemap.h linux/if_packet.h linux/if_ether.h linux/fuse.h linux/input.h linux/videodev2.h": {
        "union bpf_attr": "", "struct bpf_insn": "off imm", "struct bpf_sock_ops": "",
        "struct __sk_buff": "tstamp", "struct io_uring_sqe": "user_data", "struct io_uring_cqe": "res",
        "struct archdr": "hard soft", "struct perf_event_attr": "bp_addr sample_max_stack",
        "struct perf_event_mmap_page": "data_head", "struct ifinfomsg": "ifi_change",
        "struct rtmsg": "rtm_flags", "struct fiemap_extent": "", "struct ethhdr": "h_proto",
        "struct sockaddr_ll": "sll_addr", "struct fuse_dirent": "name", "struct input_event": "value",
        "struct v4l2_format": "fmt", "enum perf_callchain_context": "", "enum bpf_map_type": "",
        "enum perf_event_type": "",
    },
}
VALUES = """BPF_F_CTXLEN_MASK BPF_F_INDEX_MASK PERF_TXN_ABORT_MASK PERF_CONTEXT_MAX PERF_CONTEXT_USER
PERF_SAMPLE_MAX BPF_MAP_TYPE_HASH""".split()

def includes(headers):
    return "".join(f"#include <{name}>\n" for name in headers)

def d_says(t, text):
    done = subprocess.run([t.dtrace, "-q", "-C", "-s", "/dev/stdin"], input=text.encode(),
                          capture_output=True, timeout=60, cwd=t.scratch)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

def c_says(t, text):
    path = t.scratch / "layout.c"
    path.write_text(text)
    subprocess.run(["cc", "-std=gnu11", "-D_DEFAULT_SOURCE", "-w", "-o", path.with_suffix(""),
                    path], check=True)
    return subprocess.run([path.with_suffix("")], check=True, capture_output=True,
                          text=True).stdout

def refused(t, names):
    """Returns dtrace's messages for the headers that it does not compile."""
    def one(name):
        status, said = d_says(t, includes([name]) + "BEGIN { exit(0); }\n")
        return f"{name}: {said}" if status != 0 else None
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [said for said in pool.map(one, names) if said]

def installed_headers_compile(t):
    need("cc", "cpp")
    root = pathlib.Path("/usr/include")
    there = lambda name: (root / name).exists() or list(root.glob(f"*-linux-gnu/{name}"))
    compilers = {"stdarg.h", "stdatomic.h", "stddef.h"}
    equal(refused(t, [name for name in HEADERS if name in compilers or there(name)]), [],
          "refused headers")

def every_header_compiles(t):
    need("cc", "cpp")
    if not t.long:
        raise Skip("--long")
    root = pathlib.Path("/usr/include")
    arch = next(iter(root.glob("*-linux-gnu")), root)
    files = [*root.glob("*.h"), *root.glob("linux/*.h")]
    names = {str(one.relative_to(root)) for one in files}
    names |= {str(one.relative_to(arch)) for part in ("sys", "bits", "asm")
              for one in arch.glob(f"{part}/*.h")}
    is_c = lambda name: subprocess.run(
        ["cc", "-std=gnu11", "-fsyntax-only", "-w", "-x", "c", "-"],
        input=includes([name]).encode(), capture_output=True).returncode == 0
    names = [name for name in sorted(names) if is_c(name)]
    bad = refused(t, names)
    if len(bad) * 100 > len(names):
        raise AssertionError(f"{len(bad)} of {len(names)} are refused:\n" + "".join(bad))

def declarations_of_headers_have_the_layout_of_c(t):
    need("cc", "cpp")
    for headers, types in LAYOUTS.items():
        asked = [f"sizeof({name})" for name in types]
        asked += [f"offsetof({name}, {member})" for name, members in types.items()
                  for member in members.split()]
        if "linux/bpf.h" in headers:
            asked += VALUES
        prints = "".join(f'printf("%s %lx\\n", "{one}", (unsigned long)({one}));\n' for one in asked)
        in_c = c_says(t, includes(headers.split() + ["stdio.h", "stddef.h"]) +
                      "int main(void) {\n" + prints + "return 0; }\n")
        status, in_d = d_says(t, includes(headers.split() + ["stddef.h"]) + "BEGIN {\n" + prints +
                              "exit(0); }\n")
        equal((status, in_d.strip().splitlines()), (0, in_c.strip().splitlines()), "layout")

def many_headers_compile_quickly(t):
    need("cpp")
    text = includes("stdio.h stdlib.h sys/socket.h signal.h pthread.h linux/bpf.h".split())
    quickest = 60
    for _ in range(5):
        begin = time.monotonic()
        equal(d_says(t, text + "BEGIN { exit(0); }\n"), (0, "\n"), "status and output")
        quickest = min(quickest, time.monotonic() - begin)
    if quickest > 1: # compiling takes 0.1 s on an idle machine
        raise AssertionError(f"compiling took {quickest:.2f} s")

TESTS = tests_in(globals(), "includes", "d_says", "c_says", "refused")

if __name__ == "__main__":
    main(TESTS)
