/*
 * A second commit or discard does nothing.
 * @flags: -q
 */
BEGIN { s = speculation(); }
BEGIN { speculate(s); printf("once\n"); }
BEGIN { commit(s); }
BEGIN { commit(s); }
BEGIN { discard(s); }
BEGIN { exit(0); }
