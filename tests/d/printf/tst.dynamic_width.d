/*
 * A * takes the width or the precision from the arguments.
 * @flags: -q
 */
BEGIN
{
	w = 6;
	p = 3;
	printf("[%*d] [%.*d] [%*.*d]\n", w, 42, p, 7, w, p, 7);
	printf("[%*s] [%.*s] [%*d]\n", w, "ab", 2, "abcdef", -w, 42);
	exit(0);
}
