/*
 * Assignments after speculate( ) take effect even if the speculation is discarded.
 * @flags: -q
 */
BEGIN { s = speculation(); }
BEGIN { speculate(s); x = 5; printf("lost\n"); y = 6; }
BEGIN { discard(s); }
BEGIN { printf("%d %d\n", x, y); exit(0); }
