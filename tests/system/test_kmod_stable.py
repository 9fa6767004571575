#!/usr/bin/env python3
"""Tests the stable providers: what their probes report about processes, CPUs, devices, files and connections."""
import re

from machines import *

def rows(output):
    """Returns the words of each line. They are the keys and the value of an aggregation."""
    return [tuple(line.split()) for line in output.lines()]

def has(lines, *wanted):
    for line in wanted:
        if line not in lines:
            raise AssertionError(f"no {line!r}")

@script("""
dtrace -lv $(for probe in proc:::signal-send sched:::enqueue io:::start tcp:::send tcp:::state-change udp:::receive ip:::send; do
    echo "-n $probe"
done) | sed -n 's/^\\t\\targs//p'
dtrace -l -n proc:vmlinux::start -n io:::wait-start -n vfs:vop:vop_read:entry | awk '{ print $2, $3, $4, $5 }'
dtrace -lvP vfs -P lockstat -P dtmalloc >all
grep -c ' \\(vfs\\|lockstat\\|dtmalloc\\) ' all
grep -c 'args.0.' all
grep -A99 ' vop_read *return' all | grep -m3 'args.[0-2].'
""")
def a_probe_is_listed_with_the_types_of_its_arguments(output):
    has(rows(output), ("proc", "vmlinux", "start"), ("io", "vmlinux", "wait-start"), ("vfs", "vop", "vop_read", "entry"))
    has(output.lines(), "[0]: lwpsinfo_t *lwp", "[1]: psinfo_t *proc", "[2]: int sig", "[2]: cpuinfo_t *queue",
        "[0]: bufinfo_t *buf", "[1]: devinfo_t *dev", "[2]: fileinfo_t *file", "[4]: tcpinfo_t *", "[5]: tcplsinfo_t *",
        "[4]: udpinfo_t *", "[5]: ipv6info_t *")
    *_, n_probes, n_typed, vnode, file, error = output.lines()
    equal((n_typed, vnode, file, error), (n_probes, "\t\targs[0]: struct inode *vnode", "\t\targs[1]: struct file *file", "\t\targs[2]: int error"))
    equal(int(n_probes) > 60, True)

@script("""
for probe in io:::start proc:::exec-success sched:::on-cpu tcp:::send; do
    dtrace -lvn $probe | sed -n '/Argument Attributes/,/Dependency/p'
done
""")
def the_arguments_of_stable_probes_are_evolving(output):
    equal([line.strip() for line in output.lines()],
          4 * ["Argument Attributes", "Identifier Names: Evolving", "Data Semantics:   Evolving", "Dependency Class: ISA"])

@script("""
cat >w.sh <<EOF
/bin/sleep 50 &
until grep -q sleep /proc/\\$!/comm; do sleep 0.1; done
kill -9 \\$!
wait
EOF
dtrace -qn 'proc:::signal-send /args[2] == SIGKILL/ { printf("to %s by (%d) from %s\\n", args[1]->pr_fname, uid, execname); }
    proc:::signal-send /args[2] == SIGKILL/ { printf("%d %d\\n", args[0]->pr_lwpid == args[1]->pr_pid, args[1]->pr_ppid == pid); }' \\
    -c 'sh w.sh'
""")
def signal_send_shows_sender_and_receiver(output):
    has(output.lines(), "to sleep by (0) from sh", "1 1")

@script("""
cat >w.sh <<EOF
/bin/sh -c "true some words"
exit 0
EOF
dtrace -qn 'proc:::exec-success { printf("%s\\n", curpsinfo->pr_psargs); }
    proc:::exec-success { printf("argc %d lwps %d at %d\\n", curpsinfo->pr_argc, curpsinfo->pr_nlwp,
        curpsinfo->pr_addr == (uintptr_t)curthread); }
    proc:::create { printf("child of %d\\n", args[0]->pr_ppid == pid); }
    proc:::exec { printf("exec %s\\n", copyinstr((uintptr_t)args[0])); }' -c 'sh w.sh'
""")
def a_new_process_has_its_arguments(output):
    has(output.lines(), "/bin/sh -c true some words", "argc 3 lwps 1 at 1", "child of 1", "exec /bin/sh")

@script("""
insmod brd.ko rd_nr=2 rd_size=16384
dtrace -qn 'io:::start { @[args[1]->dev_statname] = sum(args[0]->b_bcount); }
    io:::done { @d[args[1]->dev_pathname, args[1]->dev_name, args[2]->fi_name] = sum(args[0]->b_bcount); }
    io:::start /args[0]->b_flags & B_READ && !(args[0]->b_flags & B_WRITE)/ { @r["reads"] = count(); }
    io:::start /getmajor(args[0]->b_edev) == args[1]->dev_major && getminor(args[0]->b_edev) == args[1]->dev_minor/ { @r["numbers"] = count(); }' \\
    -c 'dd if=/dev/ram0 of=/dev/null bs=4096 count=50 iflag=direct'
rmmod brd
""")
def bytes_of_a_device_are_counted(output):
    has(rows(output), ("ram0", "204800"), ("/dev/ram0", "brd", "<none>", "204800"), ("reads", "50"), ("numbers", "50"))

@script("""
insmod brd.ko rd_nr=1 rd_size=16384
for module in crc16 mbcache crc32c_generic jbd2 ext4; do insmod $module.ko; done
mke2fs /dev/ram0 >/dev/null
mkdir -p /mnt/point && mount -t ext4 /dev/ram0 /mnt/point
cat >w.sh <<EOF
mkdir -p /mnt/point/some/folder
dd if=/dev/zero of=/mnt/point/some/folder/file bs=4096 count=10
sync
EOF
dtrace -qn 'io:::start /args[0]->b_flags & B_WRITE/
    { @[args[2]->fi_pathname, args[2]->fi_dirname, args[2]->fi_mount, args[2]->fi_name, args[2]->fi_fs] = sum(args[0]->b_bcount); }' \\
    -c 'sh w.sh'
umount /mnt/point; rmmod ext4 jbd2 mbcache crc16 brd
""")
def io_probes_name_the_file(output):
    has(rows(output), ("/mnt/point/some/folder/file", "/mnt/point/some/folder", "/mnt/point", "file", "ext4", "40960"))
    has([row[:5] for row in rows(output)], 4 * ("<unknown>",) + ("bdev",))

@script("""
insmod loop.ko
dd if=/dev/zero of=/tmp/image bs=65536 count=64 2>/dev/null
losetup /dev/loop0 /tmp/image
dtrace -qn 'io:::wait-start /execname == "dd"/ { self->since = timestamp; @[probename] = count(); }
    io:::wait-done /self->since/ { @[probename] = count(); @t["waited"] = sum(timestamp - self->since > 0); self->since = 0;
        @n[args[1]->dev_statname, args[2]->fi_pathname, args[0]->b_bcount, args[0]->b_flags] = count(); }' \\
    -c 'dd if=/dev/loop0 of=/dev/null bs=65536'
losetup -d /dev/loop0; rm /tmp/image; rmmod loop
""")
def a_thread_that_waits_for_a_page_waits_for_io(output):
    n = {row[0]: int(row[-1]) for row in rows(output) if row[0] in ("wait-start", "wait-done", "waited")}
    equal((n.get("wait-done", 0) > 0, n.get("waited")), (True, n.get("wait-start")))
    equal([row[:4] for row in rows(output) if row[0] == "<none>"], [("<none>", "<none>", "0", "0")])

@script("""
insmod loop.ko
dd if=/dev/zero of=/tmp/image bs=65536 count=256 2>/dev/null
losetup /dev/loop0 /tmp/image
# A read that does not fit into one bio waits in blk_io_schedule(). The wait has a timeout of half of
# hung_task_timeout_secs, or no timeout if this is 0.
for seconds in 120 0; do
    echo $seconds >/proc/sys/kernel/hung_task_timeout_secs
    dtrace -qn 'io:::wait-start /execname == "direct"/ { self->since = timestamp; @["'$seconds'", probename] = count(); }
        io:::wait-done /self->since/ { @["'$seconds'", probename] = count(); self->since = 0; }
        fbt::blk_io_schedule:entry /execname == "direct"/ { @["'$seconds'", "waits"] = count(); }' \\
        -c './direct /dev/loop0 16777216'
done
losetup -d /dev/loop0; rm /tmp/image; rmmod loop
""")
def direct_input_waits_for_io_once(output):
    n = {row[:2]: int(row[2]) for row in rows(output) if len(row) == 3}
    for seconds in ("120", "0"):
        waits = n.get((seconds, "waits"), 0)
        equal((n.get((seconds, "wait-start"), 0), n.get((seconds, "wait-done"), 0), waits > 0), (waits, waits, True), seconds)

@script("""
dtrace -qn 'sched:::on-cpu { @["on-cpu", curlwpsinfo->pr_state == SONPROC ? "O" : "?"] = count(); }
    sched:::enqueue { @["queue", args[2]->cpu_id < 2 && args[2]->cpu_lgrp == 0 ? "here" : "?"] = count(); }
    sched:::wakeup /args[1]->pr_fname == "sleep"/ { @[args[0]->pr_clname, lltostr(args[0]->pr_pri)] = count(); }
    sched:::off-cpu { @["next", args[0]->pr_flag & PR_ISSYS ? "kernel" : "user"] = count(); }
    sched:::off-cpu /args[0]->pr_flag & PR_IDLE/ { @["idle", args[1]->pr_pid == 0 ? "swapper" : "?"] = count(); }
    BEGIN { @["own", curcpu->cpu_id == cpu && curcpu->cpu_chip == chip ? "CPU" : "?"] = count(); }' -c '/bin/sleep 1'
""")
def threads_and_cpus_of_the_scheduler_are_shown(output):
    seen = {row[:2]: row[2] for row in rows(output)}
    has(seen, ("on-cpu", "O"), ("queue", "here"), ("TS", "120"), ("next", "kernel"), ("next", "user"), ("own", "CPU"), ("idle", "swapper"))
    if any("?" in key for key in seen):
        raise AssertionError(str(seen))

CONNECTION = """
dd if=/dev/zero bs=1000 count=100 2>/dev/null >bytes
cat >w.sh <<EOF
sleep 4 | nc -l -p 1234 >got &
until grep -q ':04D2 0' /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done
(cat bytes; sleep 2) | nc ADDRESS 1234
wait
EOF
awk '/^Tcp: [0-9]/ { print "retransmitted", $13 }' /proc/net/snmp
dtrace -qn '
tcp:::connect-request { printf("request %s:%d %d\\n", args[2]->ip_daddr, args[4]->tcp_dport, args[3]->tcps_rport); }
tcp:::connect-established { printf("established %s:%d\\n", args[2]->ip_saddr, args[4]->tcp_sport); }
tcp:::connect-established { printf("rto %d mss %d window %d\\n", args[3]->tcps_rto >= 200 && args[3]->tcps_rto <= 3000,
    args[3]->tcps_mss > 500, args[3]->tcps_cwnd); }
tcp:::accept-established { printf("accepted %s:%d\\n", args[2]->ip_daddr, args[4]->tcp_dport); }
tcp:::state-change /args[3]->tcps_state == TCP_STATE_ESTABLISHED/
    { printf("%s\\n", tcp_state_string[args[5]->tcps_state]); }
tcp:::send, tcp:::receive /args[4]->tcp_dport == 1234/
    { @[probename, args[2]->ip_saddr] = sum(args[2]->ip_plength - args[4]->tcp_offset); }
ip:::send /args[3]->if_name == "lo" && args[4]->ipv4_ver/ { @f["flags", args[4]->ipv4_flags, args[4]->ipv4_offset] = count(); }
ip:::send /args[3]->if_name == "lo"/ { @i[args[4]->ipv4_protostr, args[5]->ipv6_nextstr] = count(); }' -c 'sh w.sh'
awk '/^Tcp: [0-9]/ { print "retransmitted", $13 }' /proc/net/snmp
wc -c <got
"""

def check_connection(output, address, protocols):
    for line in [f"request {address}:1234 1234", f"established {address}:1234", f"accepted {address}:1234", "state-syn-sent",
                 "state-syn-received"]:
        equal(output.lines().count(line), 1, line)
    equal(output.lines()[-1], "100000")
    sums = {row[0]: int(row[2]) for row in rows(output) if row[:2] in (("send", address), ("receive", address))}
    before, after = (int(row[1]) for row in rows(output) if row[0] == "retransmitted")
    window = re.findall(r"^rto 1 mss 1 window (\d+)$", output.text, re.M)
    if before == after:
        equal((sums, window), ({"send": 100000, "receive": 100000}, ["10"]))
    elif len(window) != 1 or not 100000 <= sums["receive"] <= sums["send"]:
        raise AssertionError(f"{sums}, {after - before} retransmitted")
    equal([row[:2] for row in rows(output) if "TCP" in row], [protocols])
    # Packets with TCP segments have only the flag "don't fragment".
    equal([row[1:3] for row in rows(output) if row[0] == "flags"], [("4", "0")] if protocols[0] == "TCP" else [])

@script(CONNECTION.replace("ADDRESS", "127.0.0.1"))
def a_connection_fires_each_probe_of_its_start_and_end_once(output):
    check_connection(output, "127.0.0.1", ("TCP", "<null>"))

@script(CONNECTION.replace("ADDRESS", "::1"))
def a_connection_by_ipv6_fires_the_same_probes(output):
    check_connection(output, "::1", ("<null>", "TCP"))

@script("""
cat >w.sh <<EOF
nc -ll -p 1234 -e /bin/true &
until grep -q ':04D2 0' /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done
for i in 1 2 3; do
    sleep 3 | nc 127.0.0.1 1234
    cat /proc/net/tcp /proc/net/tcp6
done
kill \\$!
EOF
ports=$(cat /proc/sys/net/ipv4/ip_local_port_range)
echo 5555 5555 >/proc/sys/net/ipv4/ip_local_port_range
dtrace -qn 'tcp:::send, tcp:::receive /args[4]->tcp_flags == TH_SYN/ { @[probename] = count(); }' -c 'sh w.sh'
echo "$ports" >/proc/sys/net/ipv4/ip_local_port_range
""")
def a_syn_for_a_connection_in_time_wait_is_received_once(output):
    equal(sum(len(row) > 3 and row[1].endswith(":04D2") and row[2].endswith(":15B3") and row[3] == "06" for row in rows(output)) > 0, True, "one connection is in TIME_WAIT")
    sent, received = (int(row[1]) for name in ("send", "receive") for row in rows(output) if row[0] == name)
    equal((received, received >= 3), (sent, True))

@script("""
dtrace -qn 'tcp:::connect-request, tcp:::connect-refused, tcp:::connect-established { printf("%s\\n", probename); }
    tcp:::accept-refused { printf("%s %s:%d\\n", probename, args[2]->ip_saddr, args[4]->tcp_sport); }
    tcp:::receive /args[4]->tcp_flags & TH_RST/ { printf("reset by %d\\n", args[4]->tcp_sport); }' -c 'nc 127.0.0.1 4321'
""")
def a_connection_to_a_closed_port_fires_refused_at_both_ends(output):
    for line in ["connect-request", "accept-refused 127.0.0.1:4321", "connect-refused", "reset by 4321"]:
        equal(output.lines().count(line), 1, line)
    equal(output.lines().count("connect-established"), 0)

@script("""
for family in 4 6; do
    dtrace -qn 'udp:::send, udp:::receive { @[probename, args[2]->ip_saddr, args[4]->udp_length] = count();
        @b[probename] = sum(args[2]->ip_plength); }
        udp:::receive /args[3]->udps_lport == args[4]->udp_dport/ { @n["to its port"] = count(); }' -c "/root/datagrams 20 300 $family"
done
""")
def datagrams_are_counted_with_their_lengths(output):
    for address in ("127.0.0.1", "::1"):
        has(rows(output), ("send", address, "308", "20"), ("receive", address, "308", "20"))
    for row in [("send", "6160"), ("receive", "6160"), ("to", "its", "port", "20")]:
        equal(rows(output).count(row), 2, str(row))

@script("""
dtrace -qn 'proc:::exit { trace(args[1]); }'
dtrace -qn 'proc:::create { trace(args[0]->pr_nothing); }'
dtrace -xnolibs -qn 'proc:::create { trace(args[0]->pr_pid); }'
mount -t tmpfs none /sys/kernel/btf
dtrace -qn 'proc:::create { trace(args[0]->pr_pid); }'
dtrace -qn 'BEGIN { trace(curpsinfo->pr_argc); }'
umount /sys/kernel/btf
rmmod dtrace
dtrace -qn 'BEGIN { trace(curpsinfo->pr_nlwp); }'
insmod dtrace.ko
""")
def arguments_and_members_that_do_not_exist_are_refused_with_the_reason(output):
    contains(output.text, "index 1 is out of range for args[ ]: the probe has 1 argument")
    contains(output.text, 'translator to "psinfo_t" does not define the member pr_nothing')
    contains(output.text, "-x nolibs was given")
    contains(output.text, "args[0] has no type: the kernel has no type data")
    contains(output.text, "curpsinfo->pr_argc cannot be read: the kernel has no type data")
    contains(output.text, "curpsinfo->pr_nlwp: ")

@script("""
cat >w.sh <<'EOF'
mkdir /tmp/dir
echo text >/tmp/dir/file
cat /tmp/dir/file /tmp/dir/nosuch
mv /tmp/dir/file /tmp/dir/moved
chmod 600 /tmp/dir/moved
ls /tmp/dir
rm /tmp/dir/moved
rmdir /tmp/dir
EOF
dtrace -qn 'vfs:namei:lookup:entry /execname == "cat"/ { self->path = stringof(args[1]); }
    vfs:namei:lookup:return /execname == "cat" && strstr(self->path, "/tmp/dir/") != NULL/ {
        printf("%s %d %d\\n", self->path, args[0], args[1] != NULL); }
    vfs:vop:vop_mkdir:return, vfs:vop:vop_rename:return, vfs:vop:vop_setattr:return, vfs:vop:vop_remove:return,
    vfs:vop:vop_rmdir:return { printf("%s %s %d %d\\n", execname, probefunc, args[2], args[0]->i_ino > 0); }
    vfs:vop:vop_read:return /execname == "cat" && arg2/ { printf("read error %d\\n", arg2); }
    vfs:namecache:lookup:miss /execname == "cat"/ { printf("miss %s\\n", stringof(args[1])); }
    vfs:namecache:enter:done /execname == "mkdir"/ { printf("enter %s\\n", stringof(args[1])); }' -c 'sh w.sh' 2>&1 | sort -u
""")
def file_systems_have_the_probes_of_freebsd(output):
    for line in ("/tmp/dir/file 0 1", "/tmp/dir/nosuch 2 0", "mkdir vop_mkdir 0 1", "mv vop_rename 0 1", "chmod vop_setattr 0 1",
                 "rm vop_remove 0 1", "rmdir vop_rmdir 0 1", "miss nosuch", "enter dir"):
        if line not in output.lines():
            raise AssertionError(f"no line {line}")

@script("""
mkdir /tmp/made
echo 'touch /tmp/made/once /tmp/made/other; echo text >>/tmp/made/once' >w.sh
dtrace -qn 'vfs:vop:vop_create:, vfs:vop:vop_open: { self->name = stringof(args[1]->d_name.name); }
    vfs:vop:vop_close: { self->name = stringof(args[1]->f_path.dentry->d_name.name); }
    vfs:namecache:enter:done { self->name = stringof(args[1]); }
    vfs:vop:vop_create:, vfs:vop:vop_open:, vfs:vop:vop_close:, vfs:namecache:enter:done /self->name == "once" || self->name == "other"/ {
        @[execname, probefunc, probename, self->name] = count(); }
    END { printa("%s %s %s %s %@d\\n", @); }' -c 'sh w.sh'
dtrace -qn 'vfs:vop:vop_ioctl: /execname == "stty"/ { printf("%s %s %d\\n", execname, probename, probename == "return" ? arg2 : 0); }' -c 'stty -F /dev/null'
""")
def an_open_that_creates_a_file_fires_create_once(output):
    want = {"stty entry 0", "stty return 25", "sh vop_open entry once 1", "sh vop_open return once 1",
            "sh vop_close entry once 1", "sh vop_close return once 1"}
    for name in ("once", "other"):
        want.add(f"touch enter done {name} 1")
        for operation in ("vop_create", "vop_open", "vop_close"):
            want |= {f"touch {operation} entry {name} 1", f"touch {operation} return {name} 1"}
    equal({line for line in output.lines() if line[:3] in ("sh ", "tou", "stt") and "stty:" not in line}, want)

@script("""
mkdir /tmp/kept
cat >w.sh <<'EOF'
touch /tmp/kept/file
mkdir /tmp/kept/folder
ln -s nowhere /tmp/kept/symlink
ln /tmp/kept/file /tmp/kept/folder/link
mv /tmp/kept/file /tmp/kept/folder/file
chmod 600 /tmp/kept/folder/file
dd if=/tmp/kept/folder/file
rm /tmp/kept/symlink
EOF
dtrace -qn 'vfs:vop:vop_create:, vfs:vop:vop_mkdir:, vfs:vop:vop_symlink:, vfs:vop:vop_link:, vfs:vop:vop_rename:,
    vfs:vop:vop_setattr:, vfs:vop:vop_read:, vfs:vop:vop_close:, vfs:vop:vop_remove:
    /execname != "dtrace" && execname != "sh"/ {
        printf("%s %s %s %d\\n", execname, probefunc, probename, args[0]->i_ino); }' -c 'sh w.sh' >seen
ls -1di /tmp/kept /tmp/kept/folder /tmp/kept/folder/file; cat seen
""")
def vnodes_are_inodes_of_files_or_of_changed_folders(output):
    lines = [line.split() for line in output.lines()]
    inodes = {line[1]: line[0] for line in lines if len(line) == 2}
    top, folder, file = inodes["/tmp/kept"], inodes["/tmp/kept/folder"], inodes["/tmp/kept/folder/file"]
    for program, operation, inode in [("touch", "vop_create", top), ("mkdir", "vop_mkdir", top), ("ln", "vop_symlink", top),
                                      ("ln", "vop_link", folder), ("mv", "vop_rename", top), ("chmod", "vop_setattr", file),
                                      ("dd", "vop_read", file), ("dd", "vop_close", file), ("rm", "vop_remove", top)]:
        for name in "entry", "return":
            if [program, operation, name, inode] not in lines:
                raise AssertionError(f"{program}: no {operation}:{name} of inode {inode} in {lines}")

@script("dmesg")
def the_kernel_reports_no_problems(output):
    kernel_is_clean(output.text)

if __name__ == "__main__":
    main(in_machines(globals(), files=["victims/datagrams", "victims/direct"],
                     modules=["drivers/block/brd.ko", "drivers/block/loop.ko", "fs/ext4/ext4.ko", "fs/jbd2/jbd2.ko", "fs/mbcache.ko", "lib/crc16.ko",
                              "crypto/crc32c_generic.ko"]))
