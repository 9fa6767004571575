/*
 * After writes, seeks and reads, fi_offset is the position of the next read or write. It
 * is 0 for a file without a position.
 * @command: files
 * @flags: -q
 */
pid$target:a.out:look:entry
{
	printf("%s %d\n", copyinstr(arg0), fds[arg1].fi_offset);
}
