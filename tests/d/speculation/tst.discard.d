/*
 * Speculated records are lost when they are discarded.
 * @flags: -q
 */
BEGIN { self->s = speculation(); }
BEGIN { speculate(self->s); printf("lost\n"); }
BEGIN { discard(self->s); }
BEGIN { printf("end\n"); exit(0); }
