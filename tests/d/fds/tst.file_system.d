/*
 * fi_fs is the type of the file's file system.
 * fi_mount is its mount point, or <none>.
 * @command: files
 * @flags: -q
 */
pid$target:a.out:look:entry
/ fds[arg1].fi_pathname == "/" || fds[arg1].fi_name == "log" /
{
	printf("%s %d %s\n", copyinstr(arg0), strlen(fds[arg1].fi_fs) > 2,
	    substr(fds[arg1].fi_mount, 0, 1));
}

pid$target:a.out:look:entry
/ copyinstr(arg0) == "proc" || dirname(fds[arg1].fi_pathname) == "." ||
  fds[arg1].fi_name == "memfd:some (deleted)" /
{
	printf("%s %s %s\n", copyinstr(arg0), fds[arg1].fi_fs, fds[arg1].fi_mount);
}
