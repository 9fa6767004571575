/*
 * progenyof is true for the target itself and false for an unknown process.
 * @command: spin 1 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:work:entry
{
	printf("%d %d\n", progenyof($target) != 0, progenyof(99999999) != 0);
}
