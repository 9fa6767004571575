/*
 * A native argument of a probe may be used by several translated ones.
 * @flags: -q
 */
provider test_prov
{
	probe place(int i, int j) : (int j, int i, int i, int j);
};

BEGIN
{
	printf("declared\n");
	exit(0);
}
