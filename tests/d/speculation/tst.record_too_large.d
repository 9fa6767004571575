/*
 * A record that is larger than the complete speculation buffer is a drop.
 * @flags: -q -x specsize=64 -x strsize=512
 * @stderr
 */
BEGIN { s = speculation(); }
BEGIN { speculate(s); printf("%s\n", execname); }
BEGIN { commit(s); }
BEGIN { printf("goes on\n"); exit(0); }
