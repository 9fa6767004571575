/*
 * Two native arguments of a probe cannot have the same name.
 */
provider test_prov
{
	probe place(int i, int i);
};

BEGIN
{
	exit(0);
}
