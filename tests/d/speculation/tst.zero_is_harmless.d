/*
 * Speculation 0 records nothing, and committing or discarding it has no effect.
 * @flags: -q
 */
BEGIN { speculate(0); printf("lost\n"); }
BEGIN { commit(0); }
BEGIN { discard(0); }
BEGIN { printf("end\n"); exit(0); }
