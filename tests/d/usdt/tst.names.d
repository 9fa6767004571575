/*
 * probeprov is the provider with the process' id; __ in a name is -, and the function is
 * the one that holds the probe.
 * @command: kinds 1
 * @replace: ^[a-z].*\n ->
 * @flags: -q
 */
kinds$target:::
/probeprov == strjoin("kinds", lltostr($target))/
{
	printf("> %s:%s:%s\n", probemod, probefunc, probename);
}
