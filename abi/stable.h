/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The probes of the stable providers, which have the same meaning on every kernel. Each
 * row names one tracepoint or kernel function at which a probe fires.
 *
 *   X(provider, probe, how, source, choose)
 *
 *   probe   the probe's name, or its module, function and name with colons
 *   how     the kind of source and its input:
 *           TRACEPOINT  a tracepoint; the input is its arguments
 *           FUNCTION    a function at its entry; the input is its first six arguments
 *           RETURNS     a function at its return; the input is its return value, then
 *                       its first five arguments
 *   source  the name of the tracepoint or function; a function with a compiler's suffix
 *           (NAME.isra.0) is also found, but not NAME.cold
 *   choose  decides whether the probe fires, and converts the input to the probe's
 *           arguments; this is the function dt_choose_CHOOSE() in kmod/stable_*.c
 *
 * Rows for one function fire in the order of this file. A row is ignored if its source
 * does not exist in the kernel. If all rows of a probe are ignored, the probe does not
 * exist.
 */
#ifndef ABI_STABLE_H
#define ABI_STABLE_H

/* clang-format off */
#define DTK_STABLE_PROC(X) \
	X("proc", "create",         TRACEPOINT, "sched_process_fork", proc_create) \
	X("proc", "exec",           TRACEPOINT, "sys_enter",          proc_exec) \
	X("proc", "exec-failure",   TRACEPOINT, "sys_exit",           proc_exec_failure) \
	X("proc", "exec-success",   TRACEPOINT, "sched_process_exec", proc_exec_success) \
	X("proc", "exec-success",   FUNCTION,   "proc_exec_connector", proc_exec_success_later) \
	X("proc", "exit",           TRACEPOINT, "sched_process_exit", proc_exit) \
	X("proc", "fault",          TRACEPOINT, "signal_generate",    proc_fault) \
	X("proc", "lwp-create",     TRACEPOINT, "sched_process_fork", proc_lwp_create) \
	X("proc", "lwp-exit",       TRACEPOINT, "sched_process_exit", always) \
	X("proc", "signal-clear",   TRACEPOINT, "sys_exit",           proc_signal_clear) \
	X("proc", "signal-discard", TRACEPOINT, "signal_generate",    proc_signal_discard) \
	X("proc", "signal-handle",  TRACEPOINT, "signal_deliver",     proc_signal_handle) \
	X("proc", "signal-send",    TRACEPOINT, "signal_generate",    proc_signal_send) \
	X("proc", "start",          FUNCTION,   "schedule_tail",      proc_start) \
	X("proc", "lwp-start",      FUNCTION,   "schedule_tail",      always)

#define DTK_STABLE_SCHED(X) \
	X("sched", "change-pri",    TRACEPOINT, "sched_pi_setprio",   sched_lend_pri) \
	X("sched", "change-pri",    FUNCTION,   "set_user_nice",      sched_nice) \
	X("sched", "dequeue",       FUNCTION,   "dequeue_task_dl",    sched_queue) \
	X("sched", "dequeue",       FUNCTION,   "dequeue_task_fair",  sched_queue) \
	X("sched", "dequeue",       FUNCTION,   "dequeue_task_rt",    sched_queue) \
	X("sched", "enqueue",       FUNCTION,   "enqueue_task_dl",    sched_queue) \
	X("sched", "enqueue",       FUNCTION,   "enqueue_task_fair",  sched_queue) \
	X("sched", "enqueue",       FUNCTION,   "enqueue_task_rt",    sched_queue) \
	X("sched", "off-cpu",       TRACEPOINT, "sched_switch",       sched_off_cpu) \
	X("sched", "on-cpu",        FUNCTION,   "finish_task_switch", always) \
	X("sched", "preempt",       TRACEPOINT, "sched_switch",       sched_preempt) \
	X("sched", "sleep",         TRACEPOINT, "sched_switch",       sched_sleep) \
	X("sched", "surrender",     FUNCTION,   "do_sched_yield",     sched_self) \
	X("sched", "tick",          FUNCTION,   "sched_tick",         sched_self) \
	X("sched", "tick",          FUNCTION,   "scheduler_tick",     sched_self) \
	X("sched", "wakeup",        TRACEPOINT, "sched_wakeup",       sched_wakeup) \
	X("sched", "wakeup",        TRACEPOINT, "sched_wakeup_new",   sched_wakeup)

#define DTK_STABLE_IO(X) \
	X("io", "done",             TRACEPOINT, "block_bio_complete", io_done) \
	X("io", "start",            TRACEPOINT, "block_bio_queue",    io_start) \
	X("io", "wait-done",        RETURNS,    "blk_io_schedule",    io_wait_direct) \
	X("io", "wait-done",        RETURNS,    "io_schedule",        io_wait_unknown) \
	X("io", "wait-done",        RETURNS,    "submit_bio_wait",    io_wait_done) \
	X("io", "wait-start",       FUNCTION,   "blk_io_schedule",    io_wait_direct) \
	X("io", "wait-start",       FUNCTION,   "io_schedule",        io_wait_unknown) \
	X("io", "wait-start",       FUNCTION,   "submit_bio_wait",    io_start)

#define DTK_STABLE_NET(X) \
	X("ip", "receive",              FUNCTION,   "ip6_input",           ip_receive) \
	X("ip", "receive",              FUNCTION,   "ip_local_deliver",    ip_receive) \
	X("ip", "send",                 FUNCTION,   "ip6_output",          ip_send) \
	X("ip", "send",                 FUNCTION,   "ip_mc_output",        ip_send) \
	X("ip", "send",                 FUNCTION,   "ip_output",           ip_send) \
	X("tcp", "accept-established",  TRACEPOINT, "inet_sock_set_state", tcp_accept_established) \
	X("tcp", "accept-refused",      FUNCTION,   "tcp_v4_send_reset",   tcp_accept_refused) \
	X("tcp", "accept-refused",      FUNCTION,   "tcp_v6_send_reset",   tcp_accept_refused) \
	X("tcp", "connect-established", FUNCTION,   "tcp_finish_connect",  tcp_connect_established) \
	X("tcp", "connect-refused",     FUNCTION,   "tcp_reset",           tcp_connect_refused) \
	X("tcp", "connect-request",     FUNCTION,   "__ip_local_out",      tcp_connect_request) \
	X("tcp", "connect-request",     FUNCTION,   "ip6_output",          tcp_connect_request) \
	X("tcp", "receive",             RETURNS,    "tcp_check_req",       tcp_receive_request) \
	X("tcp", "receive",             RETURNS,    "tcp_timewait_state_process", tcp_receive_late) \
	X("tcp", "receive",             FUNCTION,   "tcp_v4_do_rcv",       tcp_receive) \
	X("tcp", "receive",             FUNCTION,   "tcp_v4_send_reset",   tcp_receive_unclaimed) \
	X("tcp", "receive",             FUNCTION,   "tcp_v6_do_rcv",       tcp_receive6) \
	X("tcp", "receive",             FUNCTION,   "tcp_v6_send_reset",   tcp_receive_unclaimed) \
	X("tcp", "send",                FUNCTION,   "__ip_local_out",      tcp_send) \
	X("tcp", "send",                FUNCTION,   "ip6_output",          tcp_send) \
	X("tcp", "state-change",        TRACEPOINT, "inet_sock_set_state", tcp_state_change) \
	X("udp", "receive",             FUNCTION,   "__udp_enqueue_schedule_skb", udp_receive) \
	X("udp", "send",                FUNCTION,   "__ip_local_out",      udp_send) \
	X("udp", "send",                FUNCTION,   "ip6_output",          udp_send)

#define DTK_STABLE_VMINFO(X) \
	X("vminfo", "anonpgin",     TRACEPOINT, "block_bio_queue",       vm_anonpgin) \
	X("vminfo", "anonpgout",    TRACEPOINT, "block_bio_queue",       vm_anonpgout) \
	X("vminfo", "as_fault",     TRACEPOINT, "page_fault_kernel",     vm_as_fault) \
	X("vminfo", "as_fault",     TRACEPOINT, "page_fault_user",       vm_as_fault) \
	X("vminfo", "cow_fault",    RETURNS,    "do_wp_page",            vm_cow_fault) \
	X("vminfo", "cow_fault",    RETURNS,    "finish_fault",          vm_cow_file) \
	X("vminfo", "fspgin",       TRACEPOINT, "block_bio_queue",       vm_fspgin) \
	X("vminfo", "fspgout",      TRACEPOINT, "block_bio_queue",       vm_fspgout) \
	X("vminfo", "kernel_asflt", TRACEPOINT, "page_fault_kernel",     vm_kernel_asflt) \
	X("vminfo", "maj_fault",    RETURNS,    "handle_mm_fault",       vm_maj_fault) \
	X("vminfo", "pgin",         TRACEPOINT, "block_bio_queue",       vm_pgin) \
	X("vminfo", "pgout",        TRACEPOINT, "block_bio_queue",       vm_pgout) \
	X("vminfo", "pgpgin",       TRACEPOINT, "block_bio_queue",       vm_pgpgin) \
	X("vminfo", "pgpgout",      TRACEPOINT, "block_bio_queue",       vm_pgpgout) \
	X("vminfo", "pgrrun",       TRACEPOINT, "mm_vmscan_kswapd_wake", vm_one) \
	X("vminfo", "prot_fault",   TRACEPOINT, "page_fault_kernel",     vm_prot_fault) \
	X("vminfo", "prot_fault",   TRACEPOINT, "page_fault_user",       vm_prot_fault) \
	X("vminfo", "scan",         TRACEPOINT, "mm_vmscan_lru_isolate", vm_scan) \
	X("vminfo", "zfod",         FUNCTION,   "clear_huge_page",       vm_zfod_huge) \
	X("vminfo", "zfod",         FUNCTION,   "folio_zero_user",       vm_zfod_folio) \
	X("vminfo", "zfod",         TRACEPOINT, "mm_page_alloc",         vm_zfod)

#define DTK_STABLE_SYSINFO(X) \
	X("sysinfo", "bread",          TRACEPOINT, "block_bio_queue",                  sys_bread) \
	X("sysinfo", "bwrite",         TRACEPOINT, "block_bio_queue",                  sys_bwrite) \
	X("sysinfo", "idlethread",     TRACEPOINT, "sched_switch",                     sys_idlethread) \
	X("sysinfo", "inv_swtch",      TRACEPOINT, "sched_switch",                     sys_inv_swtch) \
	X("sysinfo", "lread",          FUNCTION,   "__bread_gfp",                      sys_one) \
	X("sysinfo", "lwrite",         FUNCTION,   "mark_buffer_dirty",                sys_one) \
	X("sysinfo", "modload",        TRACEPOINT, "module_load",                      sys_one) \
	X("sysinfo", "modunload",      TRACEPOINT, "module_free",                      sys_one) \
	X("sysinfo", "msg",            TRACEPOINT, "sys_enter",                        sys_msg) \
	X("sysinfo", "mutex_adenters", TRACEPOINT, "contention_end",                   sys_mutex_adenters) \
	X("sysinfo", "namei",          FUNCTION,   "do_filp_open",                     sys_one) \
	X("sysinfo", "namei",          FUNCTION,   "filename_lookup",                  sys_one) \
	X("sysinfo", "namei",          FUNCTION,   "path_parentat",                    sys_namei_parent) \
	X("sysinfo", "nthreads",       TRACEPOINT, "sched_process_fork",               sys_one) \
	X("sysinfo", "pswitch",        TRACEPOINT, "sched_switch",                     sys_one) \
	X("sysinfo", "readch",         TRACEPOINT, "sys_exit",                         sys_readch) \
	X("sysinfo", "rw_rdfails",     TRACEPOINT, "contention_end",                   sys_rw_rdfails) \
	X("sysinfo", "rw_wrfails",     TRACEPOINT, "contention_end",                   sys_rw_wrfails) \
	X("sysinfo", "sema",           TRACEPOINT, "sys_enter",                        sys_sema) \
	X("sysinfo", "sysexec",        TRACEPOINT, "sys_enter",                        sys_exec) \
	X("sysinfo", "sysfork",        FUNCTION,   "kernel_clone",                     sys_fork) \
	X("sysinfo", "sysread",        TRACEPOINT, "sys_enter",                        sys_read) \
	X("sysinfo", "sysvfork",       FUNCTION,   "kernel_clone",                     sys_vfork) \
	X("sysinfo", "syswrite",       TRACEPOINT, "sys_enter",                        sys_write) \
	X("sysinfo", "trap",           TRACEPOINT, "page_fault_kernel",                sys_one) \
	X("sysinfo", "trap",           TRACEPOINT, "page_fault_user",                  sys_one) \
	X("sysinfo", "writech",        TRACEPOINT, "sys_exit",                         sys_writech) \
	X("sysinfo", "xcalls",         FUNCTION,   "native_send_call_func_ipi",        sys_xcalls) \
	X("sysinfo", "xcalls",         FUNCTION,   "native_send_call_func_single_ipi", sys_one)

#define DTK_STABLE_LOCKSTAT(X) \
	X("lockstat", "adaptive-acquire", RETURNS,    "mutex_lock",                   lock_taken) \
	X("lockstat", "adaptive-acquire", RETURNS,    "mutex_lock_nested",            lock_taken) \
	X("lockstat", "adaptive-acquire", RETURNS,    "mutex_lock_interruptible",     lock_taken_if_0) \
	X("lockstat", "adaptive-acquire", RETURNS,    "mutex_lock_interruptible_nested", lock_taken_if_0) \
	X("lockstat", "adaptive-acquire", RETURNS,    "mutex_lock_killable",          lock_taken_if_0) \
	X("lockstat", "adaptive-acquire", RETURNS,    "mutex_lock_killable_nested",   lock_taken_if_0) \
	X("lockstat", "adaptive-acquire", RETURNS,    "ww_mutex_lock",                lock_taken_if_0) \
	X("lockstat", "adaptive-acquire", RETURNS,    "ww_mutex_lock_interruptible",  lock_taken_if_0) \
	X("lockstat", "adaptive-acquire", RETURNS,    "mutex_trylock",                lock_taken_if_1) \
	X("lockstat", "adaptive-acquire", RETURNS,    "ww_mutex_trylock",             lock_taken_if_1) \
	X("lockstat", "adaptive-block",   TRACEPOINT, "contention_end",               lock_adaptive_block) \
	X("lockstat", "adaptive-release", FUNCTION,   "mutex_unlock",                 lock_given) \
	X("lockstat", "adaptive-spin",    TRACEPOINT, "contention_end",               lock_adaptive_spin) \
	X("lockstat", "rw-acquire",       RETURNS,    "_raw_read_lock",               lock_read) \
	X("lockstat", "rw-acquire",       RETURNS,    "_raw_read_lock_bh",            lock_read) \
	X("lockstat", "rw-acquire",       RETURNS,    "_raw_read_lock_irq",           lock_read) \
	X("lockstat", "rw-acquire",       RETURNS,    "_raw_read_lock_irqsave",       lock_read) \
	X("lockstat", "rw-acquire",       RETURNS,    "down_read",                    lock_read) \
	X("lockstat", "rw-acquire",       RETURNS,    "down_read_nested",             lock_read) \
	X("lockstat", "rw-acquire",       RETURNS,    "down_read_interruptible",      lock_read_if_0) \
	X("lockstat", "rw-acquire",       RETURNS,    "down_read_killable",           lock_read_if_0) \
	X("lockstat", "rw-acquire",       RETURNS,    "_raw_read_trylock",            lock_read_if_1) \
	X("lockstat", "rw-acquire",       RETURNS,    "down_read_trylock",            lock_read_if_1) \
	X("lockstat", "rw-acquire",       RETURNS,    "_raw_write_lock",              lock_written) \
	X("lockstat", "rw-acquire",       RETURNS,    "_raw_write_lock_bh",           lock_written) \
	X("lockstat", "rw-acquire",       RETURNS,    "_raw_write_lock_irq",          lock_written) \
	X("lockstat", "rw-acquire",       RETURNS,    "_raw_write_lock_irqsave",      lock_written) \
	X("lockstat", "rw-acquire",       RETURNS,    "_raw_write_lock_nested",       lock_written) \
	X("lockstat", "rw-acquire",       RETURNS,    "down_write",                   lock_written) \
	X("lockstat", "rw-acquire",       RETURNS,    "down_write_nested",            lock_written) \
	X("lockstat", "rw-acquire",       RETURNS,    "down_write_killable",          lock_written_if_0) \
	X("lockstat", "rw-acquire",       RETURNS,    "down_write_killable_nested",   lock_written_if_0) \
	X("lockstat", "rw-acquire",       RETURNS,    "_raw_write_trylock",           lock_written_if_1) \
	X("lockstat", "rw-acquire",       RETURNS,    "down_write_trylock",           lock_written_if_1) \
	X("lockstat", "rw-block",         TRACEPOINT, "contention_end",               lock_rw_block) \
	X("lockstat", "rw-downgrade",     RETURNS,    "downgrade_write",              lock_taken) \
	X("lockstat", "rw-release",       FUNCTION,   "_raw_read_unlock",             lock_read_given) \
	X("lockstat", "rw-release",       FUNCTION,   "_raw_read_unlock_bh",          lock_read_given) \
	X("lockstat", "rw-release",       FUNCTION,   "_raw_read_unlock_irq",         lock_read_given) \
	X("lockstat", "rw-release",       FUNCTION,   "_raw_read_unlock_irqrestore",  lock_read_given) \
	X("lockstat", "rw-release",       FUNCTION,   "up_read",                      lock_read_given) \
	X("lockstat", "rw-release",       FUNCTION,   "_raw_write_unlock",            lock_written_given) \
	X("lockstat", "rw-release",       FUNCTION,   "_raw_write_unlock_bh",         lock_written_given) \
	X("lockstat", "rw-release",       FUNCTION,   "_raw_write_unlock_irq",        lock_written_given) \
	X("lockstat", "rw-release",       FUNCTION,   "_raw_write_unlock_irqrestore", lock_written_given) \
	X("lockstat", "rw-release",       FUNCTION,   "up_write",                     lock_written_given) \
	X("lockstat", "rw-spin",          TRACEPOINT, "contention_end",               lock_rw_spin) \
	X("lockstat", "spin-acquire",     RETURNS,    "_raw_spin_lock",               lock_taken) \
	X("lockstat", "spin-acquire",     RETURNS,    "_raw_spin_lock_nested",        lock_taken) \
	X("lockstat", "spin-acquire",     RETURNS,    "_raw_spin_lock_bh",            lock_taken) \
	X("lockstat", "spin-acquire",     RETURNS,    "_raw_spin_lock_irq",           lock_taken) \
	X("lockstat", "spin-acquire",     RETURNS,    "_raw_spin_lock_irqsave",       lock_taken) \
	X("lockstat", "spin-acquire",     RETURNS,    "_raw_spin_trylock",            lock_taken_if_1) \
	X("lockstat", "spin-acquire",     RETURNS,    "_raw_spin_trylock_bh",         lock_taken_if_1) \
	X("lockstat", "spin-release",     FUNCTION,   "_raw_spin_unlock",             lock_given) \
	X("lockstat", "spin-release",     FUNCTION,   "_raw_spin_unlock_bh",          lock_given) \
	X("lockstat", "spin-release",     FUNCTION,   "_raw_spin_unlock_irq",         lock_given) \
	X("lockstat", "spin-release",     FUNCTION,   "_raw_spin_unlock_irqrestore",  lock_given) \
	X("lockstat", "spin-spin",        TRACEPOINT, "contention_end",               lock_spin)

#define DTK_STABLE_DTMALLOC(X) \
	X("dtmalloc", "free",   TRACEPOINT, "kfree",            alloc_kfree) \
	X("dtmalloc", "free",   TRACEPOINT, "kmem_cache_free",  alloc_cache) \
	X("dtmalloc", "malloc", TRACEPOINT, "kmalloc",          alloc_kmalloc) \
	X("dtmalloc", "malloc", TRACEPOINT, "kmem_cache_alloc", alloc_cache)

#define DTK_STABLE_CALLOUT(X) \
	X("callout_execute", "callout-end",   TRACEPOINT, "hrtimer_expire_exit",  callout_hrtimer) \
	X("callout_execute", "callout-end",   TRACEPOINT, "timer_expire_exit",    callout_timer) \
	X("callout_execute", "callout-start", TRACEPOINT, "hrtimer_expire_entry", callout_hrtimer) \
	X("callout_execute", "callout-start", TRACEPOINT, "timer_expire_entry",   callout_timer)

#define DTK_STABLE_VFS(X) \
	X("vfs", "namecache:enter:done",          FUNCTION, "d_add",               namecache_enter) \
	X("vfs", "namecache:enter:done",          FUNCTION, "d_instantiate",       namecache_enter) \
	X("vfs", "namecache:enter:done",          FUNCTION, "d_instantiate_new",   namecache_enter) \
	X("vfs", "namecache:enter:done",          FUNCTION, "d_splice_alias",      namecache_splice) \
	X("vfs", "namecache:enter_negative:done", FUNCTION, "d_add",               namecache_enter_negative) \
	X("vfs", "namecache:enter_negative:done", FUNCTION, "d_splice_alias",      namecache_splice_negative) \
	X("vfs", "namecache:lookup:hit",          RETURNS,  "__d_lookup",          namecache_hit) \
	X("vfs", "namecache:lookup:hit",          RETURNS,  "__d_lookup_rcu",      namecache_hit) \
	X("vfs", "namecache:lookup:hit-negative", RETURNS,  "__d_lookup",          namecache_negative) \
	X("vfs", "namecache:lookup:hit-negative", RETURNS,  "__d_lookup_rcu",      namecache_negative) \
	X("vfs", "namecache:lookup:miss",         RETURNS,  "__d_lookup",          namecache_miss) \
	X("vfs", "namecache:lookup:miss",         RETURNS,  "__d_lookup_rcu",      namecache_miss) \
	X("vfs", "namecache:purge:done",          FUNCTION, "d_invalidate",        namecache_purge) \
	X("vfs", "namecache:zap:done",            FUNCTION, "__d_drop",            namecache_zap) \
	X("vfs", "namecache:zap_negative:done",   FUNCTION, "__d_drop",            namecache_zap_negative) \
	X("vfs", "namei:lookup:entry",            FUNCTION, "__filename_parentat", namei_lookup) \
	X("vfs", "namei:lookup:entry",            FUNCTION, "do_filp_open",        namei_open) \
	X("vfs", "namei:lookup:entry",            FUNCTION, "filename_lookup",     namei_lookup) \
	X("vfs", "namei:lookup:return",           RETURNS,  "__filename_parentat", namei_done) \
	X("vfs", "namei:lookup:return",           RETURNS,  "do_filp_open",        namei_opened) \
	X("vfs", "namei:lookup:return",           RETURNS,  "filename_lookup",     namei_done) \
	X("vfs", "vop:vop_close:entry",           FUNCTION, "__fput",              vop_close) \
	X("vfs", "vop:vop_close:return",          RETURNS,  "__fput",              vop_closed) \
	X("vfs", "vop:vop_create:entry",          FUNCTION, "vfs_create",          vop_folder) \
	X("vfs", "vop:vop_create:entry",          FUNCTION, "vfs_open",            vop_opened_new) \
	X("vfs", "vop:vop_create:return",         RETURNS,  "vfs_create",          vop_folder_int) \
	X("vfs", "vop:vop_create:return",         RETURNS,  "vfs_open",            vop_opened_new_int) \
	X("vfs", "vop:vop_fsync:entry",           FUNCTION, "vfs_fsync_range",     vop_file) \
	X("vfs", "vop:vop_fsync:return",          RETURNS,  "vfs_fsync_range",     vop_file_int) \
	X("vfs", "vop:vop_getattr:entry",         FUNCTION, "vfs_getattr",         vop_path) \
	X("vfs", "vop:vop_getattr:return",        RETURNS,  "vfs_getattr",         vop_path_int) \
	X("vfs", "vop:vop_ioctl:entry",           FUNCTION, "__x64_sys_ioctl",     vop_ioctl) \
	X("vfs", "vop:vop_ioctl:return",          RETURNS,  "__x64_sys_ioctl",     vop_ioctl_long) \
	X("vfs", "vop:vop_link:entry",            FUNCTION, "vfs_link",            vop_link) \
	X("vfs", "vop:vop_link:return",           RETURNS,  "vfs_link",            vop_link_int) \
	X("vfs", "vop:vop_lookup:entry",          FUNCTION, "__lookup_slow",       vop_lookup) \
	X("vfs", "vop:vop_lookup:return",         RETURNS,  "__lookup_slow",       vop_lookup_dentry) \
	X("vfs", "vop:vop_mkdir:entry",           FUNCTION, "vfs_mkdir",           vop_folder) \
	X("vfs", "vop:vop_mkdir:return",          RETURNS,  "vfs_mkdir",           vop_folder_int) \
	X("vfs", "vop:vop_mknod:entry",           FUNCTION, "vfs_mknod",           vop_folder) \
	X("vfs", "vop:vop_mknod:return",          RETURNS,  "vfs_mknod",           vop_folder_int) \
	X("vfs", "vop:vop_open:entry",            FUNCTION, "vfs_open",            vop_path) \
	X("vfs", "vop:vop_open:return",           RETURNS,  "vfs_open",            vop_path_int) \
	X("vfs", "vop:vop_read:entry",            FUNCTION, "vfs_read",            vop_file) \
	X("vfs", "vop:vop_read:entry",            FUNCTION, "vfs_readv",           vop_file) \
	X("vfs", "vop:vop_read:entry",            FUNCTION, "vfs_iter_read",       vop_file) \
	X("vfs", "vop:vop_read:return",           RETURNS,  "vfs_read",            vop_file_long) \
	X("vfs", "vop:vop_read:return",           RETURNS,  "vfs_readv",           vop_file_long) \
	X("vfs", "vop:vop_read:return",           RETURNS,  "vfs_iter_read",       vop_file_long) \
	X("vfs", "vop:vop_readdir:entry",         FUNCTION, "iterate_dir",         vop_file) \
	X("vfs", "vop:vop_readdir:return",        RETURNS,  "iterate_dir",         vop_file_int) \
	X("vfs", "vop:vop_readlink:entry",        FUNCTION, "vfs_readlink",        vop_dentry) \
	X("vfs", "vop:vop_readlink:return",       RETURNS,  "vfs_readlink",        vop_dentry_int) \
	X("vfs", "vop:vop_reclaim:entry",         FUNCTION, "evict",               vop_reclaim) \
	X("vfs", "vop:vop_reclaim:return",        RETURNS,  "evict",               vop_reclaim_done) \
	X("vfs", "vop:vop_remove:entry",          FUNCTION, "vfs_unlink",          vop_folder) \
	X("vfs", "vop:vop_remove:return",         RETURNS,  "vfs_unlink",          vop_folder_int) \
	X("vfs", "vop:vop_rename:entry",          FUNCTION, "vfs_rename",          vop_rename) \
	X("vfs", "vop:vop_rename:return",         RETURNS,  "vfs_rename",          vop_rename_int) \
	X("vfs", "vop:vop_rmdir:entry",           FUNCTION, "vfs_rmdir",           vop_folder) \
	X("vfs", "vop:vop_rmdir:return",          RETURNS,  "vfs_rmdir",           vop_folder_int) \
	X("vfs", "vop:vop_setattr:entry",         FUNCTION, "notify_change",       vop_setattr) \
	X("vfs", "vop:vop_setattr:return",        RETURNS,  "notify_change",       vop_setattr_int) \
	X("vfs", "vop:vop_symlink:entry",         FUNCTION, "vfs_symlink",         vop_folder) \
	X("vfs", "vop:vop_symlink:return",        RETURNS,  "vfs_symlink",         vop_folder_int) \
	X("vfs", "vop:vop_write:entry",           FUNCTION, "vfs_write",           vop_file) \
	X("vfs", "vop:vop_write:entry",           FUNCTION, "vfs_writev",          vop_file) \
	X("vfs", "vop:vop_write:entry",           FUNCTION, "vfs_iter_write",      vop_file) \
	X("vfs", "vop:vop_write:return",          RETURNS,  "vfs_write",           vop_file_long) \
	X("vfs", "vop:vop_write:return",          RETURNS,  "vfs_writev",          vop_file_long) \
	X("vfs", "vop:vop_write:return",          RETURNS,  "vfs_iter_write",      vop_file_long)

#define DTK_STABLE(X) \
	DTK_STABLE_PROC(X) \
	DTK_STABLE_SCHED(X) \
	DTK_STABLE_IO(X) \
	DTK_STABLE_NET(X) \
	DTK_STABLE_VMINFO(X) \
	DTK_STABLE_SYSINFO(X) \
	DTK_STABLE_LOCKSTAT(X) \
	DTK_STABLE_DTMALLOC(X) \
	DTK_STABLE_CALLOUT(X) \
	DTK_STABLE_VFS(X)
/* clang-format on */

enum dtk_stable_how {
	DTK_STABLE_TRACEPOINT,
	DTK_STABLE_FUNCTION,
	DTK_STABLE_RETURNS,
};

#ifdef __KERNEL__

#include <linux/types.h>

#define DT_STABLE_ARGS 24

/*
 * Converts the input of a row to the probe's arguments in `out`. Returns the number of
 * arguments, or -1 if the probe does not fire. Runs in any context. After the
 * arguments, `out` may contain data to which they point.
 */
typedef int dt_choose(const u64 *in, u64 *out);

struct dt_stable {
	const char *provider, *probe;
	enum dtk_stable_how how;
	const char *source;
	dt_choose *choose;
};

extern const struct dt_stable dt_stables[];
extern const u32 dt_n_stables;

/* A probe of one consumer, and a row that describes where the probe fires. */
struct dt_place_of_stable {
	struct dt_place_of_stable *next; /* the next element for the same function */
	const struct dt_stable *row;
	u32 probe; /* 0: the module that contained the function was unloaded */
};

/* Looks up the kernel symbol that the rows of the io provider need. May wait. */
void dt_stable_io_begin(void);

#define X(provider, probe, how, source, choose) dt_choose dt_choose_##choose;
DTK_STABLE(X)
#undef X

#endif

#endif
