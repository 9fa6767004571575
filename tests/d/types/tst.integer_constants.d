/*
 * Names of signals, errors and open flags are constants.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d\n", SIGHUP, SIGKILL, SIGTERM);
	printf("%d %d %d\n", ENOENT, EINVAL, EAGAIN);
	printf("%d %d %d\n", O_RDONLY, O_WRONLY, O_RDWR);
	printf("%d\n", NULL == 0);
	exit(0);
}
