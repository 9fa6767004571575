/*
 * Members of fds[] can be used in predicates, keys and thread-local variables. The index
 * of fds[] may be any integer.
 * @command: files
 * @replace: \[\d+\] -> [N]
 * @flags: -q
 */
pid$target:a.out:look:entry
/ fds[arg1].fi_oflags & O_NONBLOCK /
{
	@[fds[arg1].fi_fs, basename(fds[(int)arg1].fi_dirname)] = count();
	seen[fds[arg1].fi_pathname, fds[arg1].fi_oflags & O_ACCMODE] += 1;
	self->n = fds[arg1].fi_name;
}

pid$target:a.out:look:entry
/ self->n == fds[arg1].fi_name && fds[arg1].fi_oflags & O_WRONLY /
{
	printf("%s %d %d %d\n", self->n, seen[self->n, O_RDONLY], seen[self->n, O_WRONLY],
	    sizeof (fds[arg1].fi_offset));
}

pid$target:a.out:look:entry
{
	@sum["offsets"] = max(fds[arg1].fi_offset + fds[arg1].fi_offset);
}
