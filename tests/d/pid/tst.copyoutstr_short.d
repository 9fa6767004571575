/*
 * copyoutstr writes at most the given number of bytes. A string that is longer is
 * written without a terminating zero.
 * @flags: -q -w
 * @command: spin 10 1
 * @replace: ^calls (\d+).* -> \1 calls
 */
pid$target:a.out:main:entry
{
	this->argv = (uint64_t *)copyin(arg1, 16);
	copyoutstr("98765", this->argv[1], 1);
}
