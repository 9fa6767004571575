/*
 * One clause may name several probes.
 * @flags: -q
 */
dtrace:::BEGIN,
dtrace:::END
{
	printf("%s\n", probename);
}

BEGIN { exit(0); }
