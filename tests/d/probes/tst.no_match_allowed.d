/*
 * With zdefs (-Z), a probe description may match no probe.
 * @flags: -q -Z
 */
nosuch:::probe { printf("never\n"); }
BEGIN { printf("on\n"); exit(0); }
