/*
 * A string may contain the escapes of C, including octal and hexadecimal ones.
 * @flags: -q
 */
BEGIN
{
	printf("[%s]\n", "a\tb\\c\"d\x41\101\'\?");
	printf("%d\n", strlen("\a\b\f\n\r\t\v"));
	exit(0);
}
