/*
 * An inline does not hide what it names.
 * @flags: -x amin=Stable/Stable/Common
 */
inline int one = htons(256);
BEGIN
{
	trace(one);
}
