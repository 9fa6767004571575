/*
 * Two speculations are committed and discarded independently of each other.
 * @flags: -q -x nspec=2
 */
BEGIN { a = speculation(); b = speculation(); printf("%d %d\n", a, b); }
BEGIN { speculate(a); printf("a1\n"); }
BEGIN { speculate(b); printf("b1\n"); }
BEGIN { speculate(a); printf("a2\n"); }
BEGIN { commit(b); }
BEGIN { discard(a); }
BEGIN { exit(0); }
