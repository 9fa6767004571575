/*
 * A joined string that exceeds strsize is a fault.
 * @flags: -q -x strsize=16
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { printf("%s\n", strjoin("0123456789", "0123456789")); }
