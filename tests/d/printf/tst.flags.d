/*
 * The flags # 0 - + and space have the same effect as in C.
 * @flags: -q
 */
BEGIN
{
	printf("[%#x] [%#o] [%#X]\n", 255, 8, 255);
	printf("[%5d] [%-5d] [%05d] [%+d] [% d]\n", 42, 42, 42, 42, 42);
	printf("[%+5d] [%-+5d] [%+05d]\n", 42, 42, 42);
	printf("[%5s] [%-5s]\n", "ab", "ab");
	exit(0);
}
