/*
 * Speculated records are not printed without a commit.
 * @flags: -q
 */
BEGIN { self->s = speculation(); }
BEGIN { speculate(self->s); printf("lost\n"); }
BEGIN { printf("end\n"); exit(0); }
