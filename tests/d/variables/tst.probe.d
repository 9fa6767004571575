/*
 * The names of the probe that fires are probeprov, probemod, probefunc and probename.
 * @flags: -q
 */
BEGIN
{
	printf("%s:%s:%s:%s\n", probeprov, probemod, probefunc, probename);
}

tick-1ms
{
	printf("%s:%s:%s:%s\n", probeprov, probemod, probefunc, probename);
	exit(0);
}

END
{
	printf("%s:%s:%s:%s\n", probeprov, probemod, probefunc, probename);
}
