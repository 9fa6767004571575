/*
 * fileinfo_t is a type, and may be the result of a translator.
 * @flags: -q
 */
struct number { int n; };

translator fileinfo_t < struct number *N > {
	fi_name = "number";
	fi_offset = N->n;
};

struct number one;

BEGIN
{
	one.n = 7;
	printf("%s %d %d\n", xlate <fileinfo_t> (&one).fi_name,
	    xlate <fileinfo_t> (&one).fi_offset, sizeof (fileinfo_t) > 0);
	exit(0);
}
