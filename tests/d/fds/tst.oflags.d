/*
 * fi_oflags has the flags of open(2) that are in effect. It omits O_LARGEFILE, and flags
 * that affect only the opening.
 * @command: files
 * @flags: -q
 */
pid$target:a.out:look:entry
{
	this->flags = fds[arg1].fi_oflags;
	printf("%-14s %8o %s%s%s%s%s%s\n", copyinstr(arg0), this->flags,
	    (this->flags & O_ACCMODE) == O_RDONLY ? "read" :
	    (this->flags & O_ACCMODE) == O_WRONLY ? "write" : "both",
	    this->flags & O_APPEND ? " append" : "",
	    this->flags & O_NONBLOCK ? " nonblock" : "",
	    this->flags & O_CLOEXEC ? " cloexec" : "",
	    this->flags & O_DIRECTORY ? " directory" : "",
	    this->flags & O_PATH ? " path" : "");
}
