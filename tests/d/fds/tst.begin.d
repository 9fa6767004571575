/*
 * In BEGIN, fds[] are the files of dtrace itself.
 * @stdin: text
 * @replace: \[\d+\] -> [N]
 * @flags: -q
 */
BEGIN
{
	printf("%s %s %d\n", fds[0].fi_pathname, fds[0].fi_fs, fds[0].fi_oflags);
	printf("%s %d %s\n", fds[1].fi_name, fds[1].fi_oflags & O_ACCMODE, fds[1].fi_mount);
	printf("%s %s %s %d %s %s %d\n", fds[-1].fi_pathname, fds[-1].fi_name,
	    fds[-1].fi_dirname, fds[-1].fi_offset, fds[-1].fi_fs, fds[-1].fi_mount,
	    fds[-1].fi_oflags);
	printf("%s %s\n", fds[1000000].fi_name, fds[0x7fffffff].fi_name);
	exit(0);
}
