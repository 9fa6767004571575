/*
 * The number of elements of an array must be an integer.
 */
int a[1.5];
BEGIN
{
}
