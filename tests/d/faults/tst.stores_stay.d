/*
 * Values that a clause stored before it faulted are kept.
 * @flags: -q
 */
BEGIN { x = 5; a["k"] = 6; y = *(int *)0; x = 7; }
BEGIN { printf("%d %d\n", x, a["k"]); exit(0); }
