/*
 * copyinto reads the target's memory into memory from alloca.
 * @command: spin 7 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:main:entry
{
	this->p = (uint64_t *)alloca(16);
	copyinto(arg1, 16, this->p);
	printf("%s\n", copyinstr(this->p[1]));
}
