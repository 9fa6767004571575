/*
 * fi_offset is the position of the next read
 * or write, or 0 if the file has no position.
 * @command: files
 * @flags: -q
 */
pid$target:a.out:look:entry
{
	printf("%s %d\n", copyinstr(arg0), fds[arg1].fi_offset);
}
