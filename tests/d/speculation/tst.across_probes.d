/*
 * One commit prints all records of a speculation, from BEGIN and from a tick.
 * @sorted
 * @flags: -q
 */
int spec;
BEGIN { spec = speculation(); }
BEGIN { speculate(spec); printf("from BEGIN\n"); }
tick-5ms / spec / { speculate(spec); printf("from tick\n"); }
tick-5ms / spec / { commit(spec); spec = 0; }
tick-50ms { exit(0); }
