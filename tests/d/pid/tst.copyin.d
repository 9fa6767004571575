/*
 * copyin and copyinstr read the target's memory.
 * @command: spin 7 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:main:entry
{
	this->argv = (uint64_t *)copyin(arg1, 24);
	printf("%d %s %s\n", arg0, copyinstr(this->argv[1]), copyinstr(this->argv[2]));
	printf("[%s]\n", copyinstr(this->argv[0] + strlen(copyinstr(this->argv[0])) - 4, 2));
}
