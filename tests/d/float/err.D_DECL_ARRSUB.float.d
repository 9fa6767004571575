/*
 * An array has a whole number of elements.
 */
int a[1.5];
BEGIN
{
}
