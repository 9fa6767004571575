/*
 * copyout writes bytes into the target's memory.
 * @flags: -q -w
 * @command: spin 10 1
 */
pid$target:a.out:main:entry
{
	this->argv = (uint64_t *)copyin(arg1, 16);
	this->p = (char *)alloca(2);
	this->p[0] = '5';
	copyout(this->p, this->argv[1], 2);
}
