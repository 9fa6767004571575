#!/usr/bin/env python3
"""Causes known numbers of events, which vminfo, sysinfo, lockstat, dtmalloc and callout_execute must count."""
from machines import *

def counts(output):
    """Returns the lines that end with a number, as a dictionary from the other words to the number."""
    lines = [line.split() for line in output.lines()]
    return {" ".join(line[:-1]): int(line[-1]) for line in lines if line[-1].isdigit()}

def counted(probes, what, n, more=""):
    return script(f"""dtrace -qn '{probes} /execname == "counted"/ {{ @[probename{more}] = sum(arg0); }}' -c './counted {what} {n}'""")

CHILDREN = "sysinfo:::sysfork, sysinfo:::sysvfork, sysinfo:::nthreads"

@counted(CHILDREN, "forks", 50)
def forks_are_counted(output):
    equal(counts(output), {"nthreads": 50, "sysfork": 50})

@counted(CHILDREN, "vforks", 50)
def vforks_are_counted_separately(output):
    equal(counts(output), {"nthreads": 50, "sysvfork": 50})

@counted(CHILDREN, "threads", 50)
def threads_are_not_counted_as_forks(output):
    equal(counts(output), {"nthreads": 50})

@counted("sysinfo:::*read*, sysinfo:::*writ*", "reads", 500)
def reads_and_their_bytes_are_counted(output):
    n = counts(output)
    equal((n.get("sysread"), n.get("readch"), n.get("syswrite")), (500, 500, None))

@script("""
echo './counted readvs 500; ./counted writevs 500' >w.sh
dtrace -qn 'vfs:vop:vop_read:, vfs:vop:vop_write: /(this->name = stringof(args[1]->f_path.dentry->d_name.name)) == "zero" || this->name == "null"/ {
        @[execname, probefunc, this->name, probename, probename == "return" ? arg2 : 0] = count(); }' -c 'sh w.sh'
""")
def a_read_to_several_buffers_is_one_read(output):
    equal({name: count for name, count in counts(output).items() if name.startswith("counted ")},
          {f"counted {what} {name} 0": 500 for what in ("vop_read zero", "vop_write null") for name in ("entry", "return")})

@script("""insmod overlay.ko
mkdir /mnt && mount -t tmpfs none /mnt
mkdir /mnt/lower /mnt/upper /mnt/work /mnt/whole
dd if=/dev/zero of=/mnt/lower/read bs=1 count=100
mount -t overlay -o lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work none /mnt/whole
dtrace -qn 'vfs:vop:vop_read:, vfs:vop:vop_write: /(this->name = stringof(args[1]->f_path.dentry->d_name.name)) == "read" || this->name == "written"/ {
    @[probefunc, probename, probename == "return" ? arg2 : 0] = count(); }' -c 'dd if=/mnt/whole/read of=/mnt/whole/written bs=1'
umount /mnt/whole /mnt
rmmod overlay""")
def each_layer_of_a_file_system_fires(output):
    equal(counts(output), {"vop_read entry 0": 202, "vop_read return 0": 202, "vop_write entry 0": 200, "vop_write return 0": 200})

@counted("vminfo:::", "zeroes", 1000)
def a_new_page_is_filled_with_zeroes(output):
    n = counts(output)
    if not (1000 <= n["zfod"] <= 1004 and 1000 <= n["as_fault"] <= 1020) or n.get("cow_fault") or n.get("prot_fault"):
        raise AssertionError(str(n))

@script("""dtrace -qn 'vminfo::: /execname == "copies"/ { @[probename] = sum(arg0); }' -c './counted copies 1000'""")
def a_page_that_a_child_writes_to_is_copied(output):
    n = counts(output)
    equal((n["cow_fault"], n["prot_fault"], n.get("zfod")), (1000, 1000, None))

@script("""insmod loop.ko
dd if=/dev/zero of=/tmp/disk bs=4k count=1024 && losetup /dev/loop0 /tmp/disk
dtrace -qn 'vminfo:::fspgin, vminfo:::pgpgin, vminfo:::anonpgin { @[probename] = sum(arg0); }
    vminfo:::pgin, sysinfo:::bread { @n[probename] = count(); }' -c 'dd if=/dev/loop0 of=/dev/null bs=4k'
losetup -d /dev/loop0
rmmod loop""")
def pages_of_a_disk_are_paged_in(output):
    n = counts(output)
    equal((n.get("fspgin"), n.get("pgpgin"), n.get("anonpgin")), (1024, 1024, None))
    equal(n["pgin"], n["bread"])

@script("""
cat >w.sh <<EOF
insmod loop.ko
rmmod loop
EOF
dtrace -qn 'sysinfo:::modload, sysinfo:::modunload { @[probename] = sum(arg0); }' -c 'sh w.sh'""")
def loads_and_removals_of_modules_are_counted(output):
    equal(counts(output), {"modload": 1, "modunload": 1})

@script("""dtrace -qn 'lockstat:::adaptive-acquire, lockstat:::adaptive-release /execname == "counted"/ {
    @[probename, func(caller)] = count(); }' -c './counted locks 1000'""")
def acquires_and_releases_of_a_mutex_are_counted(output):
    n = counts(output)
    equal((n["adaptive-acquire vmlinux`pipe_write"], n["adaptive-release vmlinux`pipe_write"]), (1000, 1000))

@script("""dtrace -qn 'lockstat:::rw-acquire, lockstat:::rw-release /execname == "counted" && arg1 == 1/ {
    @[probename, func(caller)] = count(); }' -c './counted readers 1000'""")
def acquires_and_releases_of_a_reader_are_counted(output):
    n = {name: count for name, count in counts(output).items() if "mincore" in name}
    equal(sorted((name.split()[0], count) for name, count in n.items()), [("rw-acquire", 1000), ("rw-release", 1000)])

@script("""dtrace -qn 'BEGIN { begun = timestamp; }
    lockstat:::adaptive-block /execname == "counted" && arg1 > 50000000/ { printf("%d\\n", arg1 / 1000000); }
    END { printf("%d\\n", (timestamp - begun) / 1000000); }' -c './counted held 1000'""")
def a_wait_is_as_long_as_the_lock_was_held(output):
    *waits, elapsed = [int(line) for line in output.lines()]
    # On a busy machine, the thread may begin to wait late, or be woken late.
    if len(waits) != 1 or not 100 <= waits[0] <= elapsed:
        raise AssertionError(f"{waits} ms of {elapsed}")

# In `counted waits`, the threads may by chance never contend for the mutex. In `counted held`, one thread always waits.
@script("""
echo './counted waits 2000; ./counted held 200' >w.sh
dtrace -qn 'lockstat:::adaptive-block, lockstat:::adaptive-spin, sysinfo:::mutex_adenters /execname == "counted"/ {
    @[probeprov] = count(); }' -c 'sh w.sh'""")
def a_thread_that_waits_for_a_mutex_spins_or_blocks(output):
    n = counts(output)
    if not n["lockstat"] or n["lockstat"] != n["sysinfo"]:
        raise AssertionError(str(n))

@script("""./counted waits 1000000 &
dtrace -qn 'lockstat::: { @[probename] = count(); } sysinfo::: { @[probename] = count(); } tick-3s { exit(0); }'
kill $!
""")
def tracing_all_locks_at_once_works(output):
    n = counts(output)
    for kind in "adaptive", "spin", "rw":
        taken, given = n[f"{kind}-acquire"], n[f"{kind}-release"]
        if abs(taken - given) > 10 + taken / 100:
            raise AssertionError(f"{kind}: {taken} and {given}")

@script("""
cat >w.sh <<'EOF'
./counted forks 50
for i in 0 1 2 3 4 5 6 7 8 9; do for i in 0 1 2 3 4 5 6 7 8 9; do sleep 0.001; done; done
EOF
dtrace -qn 'dtmalloc:::malloc { @[probename] = sum(arg3); } dtmalloc:::free { @n[probename] = count(); }
    callout_execute::: { @n[probename] = count(); }' -c 'sh w.sh'""")
def allocations_and_timers_of_the_kernel_fire(output):
    n = counts(output)
    if not (n["malloc"] > 1000 and n["free"] > 10 and n["callout-start"] > 100):
        raise AssertionError(str(n))
    if abs(n["callout-start"] - n["callout-end"]) > 4:
        raise AssertionError(str(n))

@script("dmesg")
def the_kernel_reports_no_problems(output):
    kernel_is_clean(output.text)

if __name__ == "__main__":
    main(in_machines(globals(), files=["victims/counted"], modules=["drivers/block/loop.ko", "fs/overlayfs/overlay.ko"]))
