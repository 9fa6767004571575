/*
 * cpu is not negative, and does not change during a clause.
 * @flags: -q
 */
BEGIN { printf("%d %d\n", cpu >= 0, cpu == cpu); exit(0); }
