// SPDX-License-Identifier: MIT
// The arguments of the system calls of x86-64 (man 2).
#pragma once

#include <string_view>

// Each row has a system call and one letter for each argument:
//
//   numbers   d int, u unsigned, l long, h hexadecimal, x pointer, z size, i process id
//   files     f descriptor, D directory descriptor, s path, m mode
//   flags     o open(2), p protection, M mmap(2), a access(2), F at-flags, g getrandom(2),
//             c clone(2), w wait4(2), Z socket type, v madvise(2), j fadvise64(2), O
//             open(2) without the access mode, U and V statx(2), t memfd_create(2), +
//             renameat2(2)
//   names     S signal, W whence, k futex operation, e fcntl command, L ioctl command,
//             y arch_prctl code, P prctl option, H how, Y address family, r resource,
//             C clock
//   memory    b buffer that the call reads (the next argument is its length), B buffer
//             that the call fills (the result is its length), R such a buffer with random
//             bytes, T struct stat, N struct timespec, I two descriptors, K wait status, A
//             address; signal set, action and resource limit that the call reads (G, Q, E)
//             or fills (J, q, n)
// clang-format off
#define DTRUSS_CALLS(X) \
    X(read, "fBz") X(write, "fbz") X(open, "som") X(close, "f") X(stat, "sT") X(fstat, "fT") \
    X(lstat, "sT") X(poll, "xud") X(lseek, "flW") X(mmap, "xzpMfh") X(mprotect, "xzp") \
    X(munmap, "xz") X(brk, "x") X(rt_sigaction, "SQqz") X(rt_sigprocmask, "HGJz") \
    X(rt_sigreturn, "") X(ioctl, "fLx") X(pread64, "fBzl") X(pwrite64, "fbzl") X(readv, "fxd") \
    X(writev, "fxd") X(access, "sa") X(pipe, "I") X(select, "dxxxx") X(sched_yield, "") \
    X(mremap, "xzzhx") X(msync, "xzh") X(mincore, "xzx") X(madvise, "xzv") X(shmget, "hzh") \
    X(shmat, "dxh") X(shmctl, "dhx") X(dup, "f") X(dup2, "ff") X(pause, "") X(nanosleep, "Nx") \
    X(getitimer, "dx") X(alarm, "u") X(setitimer, "dxx") X(getpid, "") X(sendfile, "ffxz") \
    X(socket, "YZd") X(connect, "fAd") X(accept, "fxx") X(sendto, "fbzhxd") \
    X(recvfrom, "fBzhxx") X(sendmsg, "fxh") X(recvmsg, "fxh") X(shutdown, "fd") X(bind, "fAd") \
    X(listen, "fd") X(getsockname, "fxx") X(getpeername, "fxx") X(socketpair, "YZdx") \
    X(setsockopt, "fddxd") X(getsockopt, "fddxx") X(clone, "cxxxx") X(fork, "") X(vfork, "") \
    X(execve, "sxx") X(exit, "d") X(wait4, "iKwx") X(kill, "iS") X(uname, "x") X(semget, "hdh") \
    X(semop, "dxz") X(semctl, "ddhx") X(shmdt, "x") X(msgget, "hh") X(msgsnd, "dxzh") \
    X(msgrcv, "dxzlh") X(msgctl, "dhx") X(fcntl, "feh") X(flock, "fh") X(fsync, "f") \
    X(fdatasync, "f") X(truncate, "sl") X(ftruncate, "fl") X(getdents, "fxu") X(getcwd, "Bz") \
    X(chdir, "s") X(fchdir, "f") X(rename, "ss") X(mkdir, "sm") X(rmdir, "s") X(creat, "sm") \
    X(link, "ss") X(unlink, "s") X(symlink, "ss") X(readlink, "sBz") X(chmod, "sm") \
    X(fchmod, "fm") X(chown, "sdd") X(fchown, "fdd") X(lchown, "sdd") X(umask, "m") \
    X(gettimeofday, "xx") X(getrlimit, "rn") X(getrusage, "dx") X(sysinfo, "x") X(times, "x") \
    X(ptrace, "hixx") X(getuid, "") X(syslog, "dxd") X(getgid, "") X(setuid, "d") X(setgid, "d") \
    X(geteuid, "") X(getegid, "") X(setpgid, "ii") X(getppid, "") X(getpgrp, "") X(setsid, "") \
    X(setreuid, "dd") X(setregid, "dd") X(getgroups, "dx") X(setgroups, "dx") \
    X(setresuid, "ddd") X(getresuid, "xxx") X(setresgid, "ddd") X(getresgid, "xxx") \
    X(getpgid, "i") X(setfsuid, "d") X(setfsgid, "d") X(getsid, "i") X(capget, "xx") \
    X(capset, "xx") X(rt_sigpending, "xz") X(rt_sigtimedwait, "GxNz") X(rt_sigqueueinfo, "iSx") \
    X(rt_sigsuspend, "Gz") X(sigaltstack, "xx") X(utime, "sx") X(mknod, "smh") X(uselib, "s") \
    X(personality, "h") X(ustat, "hx") X(statfs, "sx") X(fstatfs, "fx") X(sysfs, "dxx") \
    X(getpriority, "dd") X(setpriority, "ddd") X(sched_setparam, "ix") X(sched_getparam, "ix") \
    X(sched_setscheduler, "idx") X(sched_getscheduler, "i") X(sched_get_priority_max, "d") \
    X(sched_get_priority_min, "d") X(sched_rr_get_interval, "ix") X(mlock, "xz") \
    X(munlock, "xz") X(mlockall, "h") X(munlockall, "") X(vhangup, "") X(modify_ldt, "dxz") \
    X(pivot_root, "ss") X(prctl, "Phhhh") X(arch_prctl, "yx") X(adjtimex, "x") \
    X(setrlimit, "rE") X(chroot, "s") X(sync, "") X(acct, "s") X(settimeofday, "xx") \
    X(mount,"ssshx") X(umount2, "sh") X(swapon, "sh") X(swapoff, "s") X(reboot, "hhhx") \
    X(sethostname, "bz") X(setdomainname, "bz") X(iopl, "d") X(ioperm, "udd") \
    X(init_module, "xzx") X(delete_module, "xh") X(quotactl, "hxdx") X(gettid, "") \
    X(readahead, "flz") X(setxattr, "ssbzh") X(lsetxattr, "ssbzh") X(fsetxattr, "fsbzh") \
    X(getxattr, "ssxz") X(lgetxattr, "ssxz") X(fgetxattr, "fsxz") X(listxattr, "sxz") \
    X(llistxattr, "sxz") X(flistxattr, "fxz") X(removexattr, "ss") X(lremovexattr, "ss") \
    X(fremovexattr, "fs") X(tkill, "iS") X(time, "x") X(futex, "xkuxxh") \
    X(sched_setaffinity, "izx") X(sched_getaffinity, "izx") X(io_setup, "ux") \
    X(io_destroy, "h") X(io_getevents, "hllxx") X(io_submit, "hlx") X(io_cancel, "hxx") \
    X(epoll_create, "d") X(remap_file_pages, "xzhzh") X(getdents64, "fxu") \
    X(set_tid_address, "x") X(restart_syscall, "") X(semtimedop, "dxzx") X(fadvise64, "flzj") \
    X(timer_create, "Cxx") X(timer_settime, "dhxx") X(timer_gettime, "dx") \
    X(timer_getoverrun, "d") X(timer_delete, "d") X(clock_settime, "CN") X(clock_gettime, "Cx") \
    X(clock_getres, "Cx") X(clock_nanosleep, "ChNx") X(exit_group, "d") X(epoll_wait, "fxdd") \
    X(epoll_ctl, "fdfx") X(tgkill, "iiS") X(utimes, "sx") X(mbind, "xzhxuh") \
    X(set_mempolicy, "hxu") X(get_mempolicy, "xxuxh") X(mq_open, "somx") X(mq_unlink, "s") \
    X(mq_timedsend, "fxzux") X(mq_timedreceive, "fxzxx") X(mq_notify, "fx") \
    X(mq_getsetattr, "fxx") X(kexec_load, "xuxh") X(waitid, "hixwx") X(add_key, "xxxzd") \
    X(request_key, "xxxd") X(keyctl, "dhhhh") X(ioprio_set, "ddd") X(ioprio_get, "dd") \
    X(inotify_init, "") X(inotify_add_watch, "fsh") X(inotify_rm_watch, "fd") \
    X(migrate_pages, "iuxx") X(openat, "Dsom") X(mkdirat, "Dsm") X(mknodat, "Dsmh") \
    X(fchownat, "DsddF") X(futimesat, "Dsx") X(newfstatat, "DsTF") X(unlinkat, "DsF") \
    X(renameat, "DsDs") X(linkat, "DsDsF") X(symlinkat, "sDs") X(readlinkat, "DsBz") \
    X(fchmodat, "Dsm") X(faccessat, "Dsa") X(pselect6, "dxxxxx") X(ppoll, "xuxxz") \
    X(unshare, "h") X(set_robust_list, "xz") X(get_robust_list, "ixx") X(splice, "fxfxzh") \
    X(tee, "ffzh") X(sync_file_range, "fllh") X(vmsplice, "fxuh") X(move_pages, "iuxxxh") \
    X(utimensat, "DsxF") X(epoll_pwait, "fxddxz") X(signalfd, "fxz") X(timerfd_create, "CO") \
    X(eventfd, "u") X(fallocate, "fhll") X(timerfd_settime, "fhxx") X(timerfd_gettime, "fx") \
    X(accept4, "fxxO") X(signalfd4, "fxzO") X(eventfd2, "uO") X(epoll_create1, "O") \
    X(dup3, "ffO") X(pipe2, "IO") X(inotify_init1, "O") X(preadv, "fxull") X(pwritev, "fxull") \
    X(rt_tgsigqueueinfo, "iiSx") X(perf_event_open, "xidfh") X(recvmmsg, "fxuhx") \
    X(fanotify_init, "hh") X(fanotify_mark, "fhhDs") X(prlimit64, "irEn") \
    X(name_to_handle_at, "Dsxxh") X(open_by_handle_at, "fxo") X(clock_adjtime, "Cx") \
    X(syncfs, "f") X(sendmmsg, "fxuh") X(setns, "fh") X(getcpu, "xxx") \
    X(process_vm_readv, "ixuxuh") X(process_vm_writev, "ixuxuh") X(kcmp, "iidhh") \
    X(finit_module, "fxh") X(sched_setattr, "ixh") X(sched_getattr, "ixuh") \
    X(renameat2, "DsDs+") X(seccomp, "hhx") X(getrandom, "Rzg") X(memfd_create, "st") \
    X(kexec_file_load, "ffzxh") X(bpf, "hxu") X(execveat, "DsxxF") X(userfaultfd, "h") \
    X(membarrier, "hhd") X(mlock2, "xzh") X(copy_file_range, "fxfxzh") X(preadv2, "fxullh") \
    X(pwritev2, "fxullh") X(pkey_mprotect, "xzpd") X(pkey_alloc, "hh") X(pkey_free, "d") \
    X(statx, "DsUVx") X(io_pgetevents, "hllxxx") X(rseq, "xhhh") X(pidfd_send_signal, "fSxh") \
    X(io_uring_setup, "ux") X(io_uring_enter, "fuuhxz") X(io_uring_register, "fhxu") \
    X(open_tree, "Dsh") X(move_mount, "DsDsh") X(fsopen, "sh") X(fsconfig, "fhxxd") \
    X(fsmount, "fhh") X(fspick, "Dsh") X(pidfd_open, "ih") X(clone3, "xz") \
    X(close_range, "uuh") X(openat2, "Dsxz") X(pidfd_getfd, "ffh") X(faccessat2, "DsaF") \
    X(process_madvise, "fxuvh") X(epoll_pwait2, "fxdxxz") X(mount_setattr, "Dshxz") \
    X(quotactl_fd, "fhdx") X(landlock_create_ruleset, "xzh") X(landlock_add_rule, "fdxh") \
    X(landlock_restrict_self, "fh") X(memfd_secret, "h") X(process_mrelease, "fh") \
    X(futex_waitv, "xuhxC") X(set_mempolicy_home_node, "hhhh") X(cachestat, "fxxh") \
    X(fchmodat2, "DsmF") X(map_shadow_stack, "xzh") X(futex_wake, "xhdh") \
    X(futex_wait, "xhhhxC") X(futex_requeue, "xhdd") X(statmount, "xxzh") X(listmount, "xxzh") \
    X(lsm_get_self_attr, "hxxh") X(lsm_set_self_attr, "hxuh") X(lsm_list_modules, "xxh") \
    X(mseal, "xzh") X(setxattrat, "DsFxxz") X(getxattrat, "DsFxxz") X(listxattrat, "DsFxz") \
    X(removexattrat, "DsFx") X(open_tree_attr, "Dshxz")
// clang-format on

// Returns the letters of a system call's arguments. Returns six letters h for a call
// that is not in the table.
std::string_view arguments_of(std::string_view call);
// Calls a function with the name and the letters of each system call.
template <class F> void each_call(F&& use)
{
#define X(name, arguments) use(std::string_view(#name), std::string_view(arguments));
    DTRUSS_CALLS(X)
#undef X
}
