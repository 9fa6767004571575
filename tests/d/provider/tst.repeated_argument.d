/*
 * Several translated arguments of a probe may use the same native argument.
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
