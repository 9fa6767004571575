/*
 * With breakpoints, D runs in another process, but fds[] are still the target's files.
 * @command: files
 * @replace: /tmp/files\.\w+ -> DIR
 * @replace: \[\d+\] -> [N]
 * @flags: -q -x mechanism=int3
 */
pid$target:a.out:look:entry
/ fds[arg1].fi_oflags || fds[arg1].fi_offset || fds[arg1].fi_name == "<none>" /
{
	printf("%s|%s|%d|%o\n", copyinstr(arg0), fds[arg1].fi_pathname, fds[arg1].fi_offset,
	    fds[arg1].fi_oflags);
}
