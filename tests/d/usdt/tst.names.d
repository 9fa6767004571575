/*
 * probeprov is the provider followed by the process id. In a probe's name, __ becomes -.
 * probefunc is the function that contains the probe.
 * @command: kinds 1
 * @replace: ^[a-z].*\n ->
 * @flags: -q
 */
kinds$target:::
/probeprov == strjoin("kinds", lltostr($target))/
{
	printf("> %s:%s:%s\n", probemod, probefunc, probename);
}
