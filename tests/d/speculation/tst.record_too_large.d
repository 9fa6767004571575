/*
 * A record that is larger than a speculation buffer is dropped, and the drop is reported.
 * @flags: -q -x specsize=64 -x strsize=512
 * @stderr
 */
BEGIN { s = speculation(); }
BEGIN { speculate(s); printf("%s\n", execname); }
BEGIN { commit(s); }
BEGIN { printf("goes on\n"); exit(0); }
