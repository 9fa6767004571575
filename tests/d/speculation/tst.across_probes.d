/*
 * A speculation of BEGIN and a tick is committed as a whole.
 * @sorted
 * @flags: -q
 */
int spec;
BEGIN { spec = speculation(); }
BEGIN { speculate(spec); printf("from BEGIN\n"); }
tick-5ms / spec / { speculate(spec); printf("from tick\n"); }
tick-5ms / spec / { commit(spec); spec = 0; }
tick-50ms { exit(0); }
