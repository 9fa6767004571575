/*
 * Records that are neither committed nor discarded are not printed.
 * @flags: -q
 */
BEGIN { self->s = speculation(); }
BEGIN { speculate(self->s); printf("lost\n"); }
BEGIN { printf("end\n"); exit(0); }
