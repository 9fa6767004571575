/*
 * With -x cpu, BEGIN and END fire on the given CPU.
 * @flags: -q -x cpu=0
 */
BEGIN { printf("%d\n", cpu); exit(0); }
END { printf("%d\n", cpu); }
