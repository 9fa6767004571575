/*
 * The builtins probeprov, probemod, probefunc and probename describe a pid probe.
 * @command: spin 1 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:work:entry
{
	printf("%d %s %s %s\n", probeprov == strjoin("pid", lltostr(pid)), probemod,
	    probefunc, probename);
}
