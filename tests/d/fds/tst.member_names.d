/*
 * Variables may have the same names as members of fds[].
 * @flags: -q
 */
BEGIN
{
	fi_name = 1;
	fi_offset["x"] = 2;
	self->fi_fs = "three";
	printf("%d %d %s\n", fi_name, fi_offset["x"], self->fi_fs);
	exit(0);
}
