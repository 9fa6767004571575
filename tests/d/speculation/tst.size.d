/*
 * A record that does not fit into the rest of a speculation buffer is dropped.
 * @flags: -q -x specsize=400 -x strsize=256
 * @stderr
 */
BEGIN { s = speculation(); }
BEGIN { speculate(s); printf("%s\n", execname); }
BEGIN { speculate(s); printf("%s\n", execname); }
BEGIN { commit(s); }
BEGIN { exit(0); }
