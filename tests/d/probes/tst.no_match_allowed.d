/*
 * With zdefs, a description may match nothing.
 * @flags: -q -Z
 */
nosuch:::probe { printf("never\n"); }
BEGIN { printf("on\n"); exit(0); }
