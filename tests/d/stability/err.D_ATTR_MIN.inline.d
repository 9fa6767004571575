/*
 * An inline without attributes of its own does not hide the attributes of the names in it.
 * @flags: -x amin=Stable/Stable/Common
 */
inline int one = htons(256);
BEGIN
{
	trace(one);
}
