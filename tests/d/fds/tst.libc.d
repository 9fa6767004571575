/*
 * At the entry of libc's read(), write() and close(), fds[arg0] is the file that the call uses.
 * @command: /bin/dd if=err.D_OP_LVAL.member.d of=/dev/null bs=16 skip=1 count=3 status=none
 * @flags: -q
 */
pid$target:libc.so*:read:entry
/ fds[arg0].fi_name == "err.D_OP_LVAL.member.d" /
{
	printf("read %s at %d\n", fds[arg0].fi_name, fds[arg0].fi_offset);
	self->fd = arg0;
	self->reads = 1;
}

pid$target:libc.so*:read:return
/ self->reads /
{
	@[fds[self->fd].fi_name] = max(fds[self->fd].fi_offset);
	self->reads = 0;
}

pid$target:libc.so*:write:entry
/ fds[arg0].fi_pathname == "/dev/null" /
{
	printf("write %s %d bytes\n", fds[arg0].fi_name, arg2);
}

pid$target:libc.so*:close:entry
/ arg0 < 2 /
{
	printf("close %s %d\n", fds[arg0].fi_name, fds[arg0].fi_oflags & O_ACCMODE);
}
