/*
 * A constant index into a string of an associative array must be within strsize bytes.
 */
string names[int];

BEGIN
{
	names[1] = "one";
	trace(names[1][256]);
	exit(0);
}
