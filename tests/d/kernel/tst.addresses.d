/*
 * %a, sym(), func() and mod() print addresses without a symbol in hexadecimal.
 */
#pragma D option quiet

BEGIN
{
	printf("%a ", 0x1234);
	sym(0x1234);
	func(0x1234);
	mod(0x1234);
	exit(0);
}
