/*
 * A string knows the escapes of C, octal and hexadecimal ones included.
 * @flags: -q
 */
BEGIN
{
	printf("[%s]\n", "a\tb\\c\"d\x41\101\'\?");
	printf("%d\n", strlen("\a\b\f\n\r\t\v"));
	exit(0);
}
