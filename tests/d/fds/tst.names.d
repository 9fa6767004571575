/*
 * fi_pathname, fi_name and fi_dirname name the file as Linux does. A closed descriptor
 * has the name <none>.
 * @command: files
 * @replace: /tmp/files\.\w+ -> DIR
 * @replace: \[\d+\] -> [N]
 * @replace: /proc/\d+ -> /proc/PID
 * @replace: \|files\.\w+\| -> |DIR|
 * @flags: -q
 */
pid$target:a.out:look:entry
{
	printf("%s|%s|%s|%s|\n", copyinstr(arg0), fds[arg1].fi_pathname, fds[arg1].fi_name,
	    fds[arg1].fi_dirname);
}
