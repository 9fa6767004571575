/*
 * A provider pattern with a process id matches the probes of that process.
 * @flags: -q
 * @command: spin 10 1
 * @replace: ^calls.*\n ->
 */
p*d$target:a.out:work:entry
{
	n++;
}

END
{
	printf("%d\n", n);
}
