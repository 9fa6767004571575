/*
 * fi_offset is where the next read or write will be, after writes, seeks and reads; 0 of
 * what has no position.
 * @command: files
 * @flags: -q
 */
pid$target:a.out:look:entry
{
	printf("%s %d\n", copyinstr(arg0), fds[arg1].fi_offset);
}
