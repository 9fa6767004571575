/*
 * A D library in a folder named by -L provides
 * inlines, types, translators and options.
 * @flags: -L good
 */
struct shape box;

BEGIN
{
	box.width = 3;
	box.height = twice[2];
	printf("%d by %d sides\n", xlate <area_t> (&box).square, xlate <area_t> (&box).side);
	exit(0);
}
