/*
 * Speculated records are printed when they are committed.
 * @flags: -q
 */
BEGIN { self->s = speculation(); }
BEGIN { speculate(self->s); printf("kept\n"); }
BEGIN { printf("id %d\n", self->s); }
BEGIN { commit(self->s); }
BEGIN { exit(0); }
