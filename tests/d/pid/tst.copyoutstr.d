/*
 * copyoutstr writes a string into the target's memory.
 * @flags: -q -w
 * @command: spin 10 1
 */
pid$target:a.out:main:entry
{
	this->argv = (uint64_t *)copyin(arg1, 16);
	copyoutstr("5", this->argv[1], 8);
}
