/*
 * A size may end in k, m or g, in lower or upper case.
 * @flags: -q
 */
#pragma D option bufsize=64k
#pragma D option aggsize=1M
#pragma D option dynvarsize=2m
#pragma D option specsize=16K
#pragma D option strsize=32
BEGIN { printf("%d\n", sizeof (string)); exit(0); }
